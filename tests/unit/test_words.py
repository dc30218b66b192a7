"""The language of the package: names that say what they name, docstrings that state."""

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "cltrace"
SOURCES = sorted(PACKAGE.rglob("*.py"))
VAGUE = frozenset({"one", "found", "known", "many"})
MAX_VAGUE, MAX_QUESTIONS, MAX_SKIPPED_FORMATS = 200, 20, 20
QUESTION = re.compile(r"(What|How|Who|Whose|Whether|Which|Where|When|Why)\b")
EXTREME = re.compile(r"(^|_)(most|fewest|least)_", re.IGNORECASE)
FOREIGN = frozenset({"least_squares", "most_common"})
"""Names of numpy, scipy and the standard library."""
MAX_FIELDS = 6
"""Records with more fields take keyword arguments only."""


def names() -> Iterator[tuple[Path, str]]:
    """All identifiers, with the file that they stand in."""
    for path in SOURCES:
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
            if token.type == tokenize.NAME:
                yield path, token.string


def definitions() -> Iterator[tuple[Path, ast.AST]]:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            yield path, node


def test_names_say_what_they_name() -> None:
    vague = Counter(str(path.relative_to(ROOT)) for path, name in names() if name in VAGUE)
    assert vague.total() <= MAX_VAGUE, vague.most_common(20)


def test_limits_are_min_and_max() -> None:
    extreme = {name for _, name in names() if EXTREME.search(name)} - FOREIGN
    assert not extreme


def test_docstrings_state() -> None:
    questions = [
        f"{path.relative_to(ROOT)}:{statement.lineno}"
        for path, node in definitions()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
        and QUESTION.match(statement.value.value)
    ]
    assert len(questions) <= MAX_QUESTIONS, questions


def test_hardly_anything_is_formatted_by_hand() -> None:
    skipped = Counter({path.name: path.read_text().count("fmt: skip") for path in SOURCES})
    assert skipped.total() <= MAX_SKIPPED_FORMATS, skipped.most_common(20)


def test_classes_have_names_of_their_own() -> None:
    places = defaultdict(set)
    for path, node in definitions():
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            places[node.name].add(str(path.relative_to(PACKAGE)))
    assert not {name: sorted(files) for name, files in places.items() if len(files) > 2}


def stem(name: str) -> str:
    """A module's name without what makes near-twins of one word: plural, participle, agent."""
    name = name.removesuffix(".py")
    for ending in ("ings", "ing", "ers", "er", "able", "ions", "ion", "ed", "es", "s"):
        if name.endswith(ending) and len(name) - len(ending) >= 4:
            return name.removesuffix(ending)
    return name


ROOMS = sorted({path.parent for path in SOURCES})


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_no_two_modules_of_a_room_are_near_twins(room: Path) -> None:
    modules = [
        entry.name
        for entry in sorted(room.iterdir())
        if (entry.suffix == ".py" or (entry / "__init__.py").exists()) and entry.stem != "__init__"
    ]
    assert not [pair for pair in combinations(modules, 2) if stem(pair[0]) == stem(pair[1])]


def test_large_records_take_keywords_only() -> None:
    positional = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path, node in definitions()
        if isinstance(node, ast.ClassDef) and is_large_positional_record(node)
    ]
    assert not positional


def is_large_positional_record(node: ast.ClassDef) -> bool:
    fields = [
        statement
        for statement in node.body
        if isinstance(statement, ast.AnnAssign) and "ClassVar" not in ast.unparse(statement)
    ]
    decorators = [
        {keyword.arg for keyword in decorator.keywords}
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "dataclass"
    ]
    return len(fields) > MAX_FIELDS and any("kw_only" not in keywords for keywords in decorators)
