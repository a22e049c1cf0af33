"""DuckDB and SQLite as judges of random statements."""
