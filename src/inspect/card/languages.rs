//! Tells programming and markup languages from languages that people speak, by the names in the field `language`.
//!
//! The names are those of data sets of code (The Stack, GitHub's linguist), in lower case. A name that is also a code of
//! ISO 639-1, such as `cs`, `ml`, `pl` or `ts`, stands for the spoken language; data sets of code spell these out.

/// With a space between them.
const NAMES: &str = "\
    abap actionscript ada agda antlr apacheconf apl applescript arduino asciidoc asp assembly astro augeas \
    autohotkey awk bash batch batchfile bibtex bluespec c c# c++ cfg clojure cmake cobol code coffeescript \
    common-lisp coq cpp crystal csharp cshtml css csv cuda cython d dart dhall diff dockerfile elixir elm \
    emacs-lisp erb erlang f# fortran fsharp gdscript glsl gnuplot go golang graphql graphviz-dot groovy haml \
    handlebars haskell haxe hcl hlsl html html+erb idris ini isabelle j java java-server-pages javascript \
    jinja json json5 jsonl jsx julia jupyter jupyter-notebook kotlin latex lean less literate-agda \
    literate-coffeescript literate-haskell lua makefile maple markdown mathematica matlab mdx mermaid mojo \
    mustache nginx nim ninja nix notebook objective-c objective-c++ objectivec ocaml octave odin opencl org \
    pascal perl php plain-text plaintext powershell prolog properties proto protobuf protocol-buffer puppet \
    purescript python python3 q# qml r racket raku restructuredtext rmarkdown robotframework rst ruby rust \
    sass scala scheme scss shell shellscript slim smalltalk solidity sparql sql stan standard-ml starlark \
    stata stylus svelte svg swift systemverilog tcl tcsh terraform tex text thrift toml tsx twig txt \
    typescript v vala vb verilog vhdl vim-script viml visual-basic vue webassembly xml xslt yacc yaml yml \
    zig zsh";

/// Whether a value of the field `language` is the name of a programming or markup language.
#[must_use]
pub fn is_programming_language(name: &str) -> bool {
    let name = name.trim().to_lowercase().replace([' ', '_'], "-");
    NAMES.split(' ').any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_code_are_no_languages_that_people_speak() {
        for name in ["Rust", "C++", "go", "toml", "Jupyter Notebook", "shell", "markdown", "cpp"] {
            assert!(is_programming_language(name), "{name}");
        }
        for name in ["en", "de-AT", "pl", "cs", "ts", "English", "zh_CN", "", "und"] {
            assert!(!is_programming_language(name), "{name}");
        }
    }
}
