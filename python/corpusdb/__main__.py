"""`python -m corpusdb` runs the command."""

from corpusdb._cli import main

if __name__ == "__main__":
    main()
