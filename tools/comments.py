"""The files of the tree, and the comments in them: for the checks of comments (check-citations, check-comments)."""
import functools
import os
import pathlib
import re

# Where our files are. What else lies in the root was made, or belongs to somebody else.
FOLDERS = ("bench", "contract", "docs", "examples", "packaging", "python", "src", "tests", "tools")
NOT_OURS = {"corpus", "node_modules", "__pycache__", "contexts", "dist"}

# Strings are looked at too, so that nothing within them is taken for a comment.
C_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
PYTHON_COMMENT = re.compile(
    r'#[^\n]*|^[ ]*[rR]?"""(?:\\.|[^\\])*?"""|[rRbBfFuU]{0,2}(?:"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\''
    r'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')',
    re.DOTALL | re.MULTILINE,
)


def files_of(root, folders=FOLDERS):
    """The files in the root itself, and those in the folders; hidden ones are left out."""
    yield from (p for p in root.iterdir() if p.is_file() and not p.name.startswith("."))
    for folder in folders:
        for directory, below, names in os.walk(root / folder):
            below[:] = [name for name in below if name not in NOT_OURS and not name.startswith(".")]
            yield from (path for name in names if not name.startswith(".") and (path := pathlib.Path(directory, name)).is_file())


@functools.lru_cache(maxsize=None)
def text_of(path):
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def is_python(path):
    return path.suffix == ".py" or (not path.suffix and "python" in text_of(path).partition("\n")[0])


def c_comments(text):
    """(offset, text) of each."""
    return [(m.start(), m.group()) for m in C_COMMENT.finditer(text) if m.group().startswith("/")]


def python_comments(text):
    """Comments, and strings that begin a line, which are docstrings but for a few."""
    found = [(m.start(), m.group()) for m in PYTHON_COMMENT.finditer(text)]
    return [(at, words) for at, words in found if words.startswith("#") or re.match(r'[ ]*[rR]?"""', words) and text[at - 1 : at] in ("", "\n")]


def line_comments(text, mark):
    return [(m.start(), m.group()) for m in re.finditer(rf"(?:^|(?<=\s)){mark}.*", text, re.MULTILINE)]


@functools.lru_cache(maxsize=None)
def comments_of(path):
    """(offset, text) of each comment; none of a file in a language that is not known here."""
    text = text_of(path)
    if path.suffix in (".c", ".h", ".ts", ".tsx", ".js", ".mjs", ".css"):
        return c_comments(text)
    if is_python(path):
        return python_comments(text)
    if path.suffix == ".sql":
        return line_comments(text, "--")
    if path.suffix in (".build", ".sh", ".yaml", ".toml") or path.name == "Makefile" or not path.suffix:
        return line_comments(text, "#")
    return []
