import pkgutil
import subprocess
import sys

import pytest

from abjudge import measure


@pytest.mark.parametrize("name", measure.__all__)
def test_every_public_name_is_there_and_documented(name):
    assert getattr(measure, name).__doc__


def test_no_module_hides_a_function_of_its_name():
    modules = {module.name for module in pkgutil.iter_modules(measure.__path__)}

    assert modules & set(measure.__all__) == set()


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="win_rte"):
        measure.win_rte  # noqa: B018 - the access is the test


def loaded_after(line):
    code = f"import sys\n{line}\nprint(*sorted({{'numpy', 'scipy', 'scipy.stats'}} & set(sys.modules)))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_importing_the_room_loads_neither_numpy_nor_scipy():
    assert loaded_after("import abjudge.measure") == []


def test_a_win_rate_does_not_load_scipy_stats():
    assert loaded_after("import abjudge.measure as m; m.win_rate_ci([1, 0, 0.5])") == ["numpy", "scipy"]
