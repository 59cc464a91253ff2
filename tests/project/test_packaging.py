"""Builds the package as users and distributors do, and tries each build where nothing else is.

Slow, and in need of the network (build tools and NumPy are installed into new environments), so
marked `packaging` and left to `make test-all`.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import pytest
from browsers import chromium, explored
from samples import planted
from serving import until
from support import ROOT, importorskip, missing

import paretocut as pc

pytestmark = pytest.mark.packaging

PAGE = {
    f"paretocut/web/explorer/static/{path.name}"
    for path in (ROOT / "src" / "paretocut" / "web" / "explorer" / "static").iterdir()
}
THIS_PYTHON = "{}.{}".format(*sys.version_info[:2])


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    """Return what a command printed; when it fails, fail with that."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "CXX")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=kept | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


@functools.cache
def interpreter(version: str) -> Path:
    """Return a Python of this version, from the PATH or from pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [
        Path(sys.base_prefix, "bin", f"python{version}"),
        *map(Path, filter(None, [shutil.which(f"python{version}")])),
        *sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}")),
    ]
    for candidate in candidates:
        # pyenv puts a stand-in on the PATH that fails for versions not switched on.
        if candidate.exists() and not subprocess.call(
            [candidate, "-c", "import ensurepip"], stderr=subprocess.DEVNULL
        ):
            return candidate
    missing(f"Python {version} is not installed")


def environment(folder: Path, version: str, *packages: str | Path) -> Path:
    """Return the Python of a new virtual environment that has the packages."""
    run(interpreter(version), "-m", "venv", folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return python


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "build", "--sdist", "--outdir", folder, ROOT)
    (path,) = folder.glob("paretocut-*.tar.gz")
    return path


class Builder:
    """Wheels built from the sdist, each once."""

    def __init__(self, sdist: Path, folder: Path) -> None:
        self.sdist = sdist
        self.folder = folder
        self.built: dict[tuple[str, ...], Path] = {}

    def wheel(self, version: str, *options: str, compiler: str = "") -> Path:
        """Return the wheel made by this Python with these build options and compiler."""
        key = (version, compiler, *options)
        if key not in self.built:
            folder = self.folder / f"wheel-{len(self.built)}"
            named = {"CXX": compiler} if compiler else {}
            output = run(
                interpreter(version), "-m", "pip", "wheel", "--verbose", "--no-deps",
                "--no-cache-dir", "--wheel-dir", folder, *options, self.sdist, **named,
            )  # fmt: skip
            maker = {"g++": "GNU", "clang++": "Clang"}.get(compiler, "")
            assert f"The CXX compiler identification is {maker}" in output
            (self.built[key],) = folder.glob("*.whl")
        return self.built[key]


@pytest.fixture(scope="module")
def builder(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Builder:
    return Builder(sdist, tmp_path_factory.mktemp("wheels"))


def check_install(folder: Path, version: str, wheel: Path) -> Path:
    """Install the wheel where there is only NumPy besides, run the minimal test, give Python."""
    python = environment(folder / "venv", version, wheel)
    installed = run(python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check")
    names = {line.partition("==")[0].lower() for line in installed.splitlines() if "==" in line}
    assert names - {"pip", "setuptools"} == {"numpy", "paretocut"}

    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pytest")
    shutil.copy(ROOT / "tests" / "test_minimal.py", folder)
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n", encoding="utf-8")
    assert "passed" in run(python, "-m", "pytest", "-q", "test_minimal.py", cwd=folder)
    return python


def fingerprint(python: Path, cwd: Path) -> str:
    """Return a digest of the engine's results, to compare builds to the last bit."""
    code = """
import hashlib, numpy, paretocut
from paretocut import _kernel
digest = hashlib.sha256()
generator = numpy.random.default_rng(1)
lists = [generator.exponential(size=n).cumsum() for n in range(300)]
lists += [generator.standard_t(3, size=200) for _ in range(300)]
for isa in _kernel.available_isas().split():
    assert _kernel.use_isa(isa)
    digest = hashlib.sha256()
    fits = paretocut.fit_tails(lists)
    for array in (fits.surprise.values, fits.shape, fits.scale, fits.threshold, fits.cvm):
        digest.update(array.tobytes())
    print(digest.hexdigest())
"""
    digests = set(run(python, "-c", code, cwd=cwd).split())
    assert len(digests) == 1, "instruction sets disagree"
    return digests.pop()


def test_sdist_has_the_sources_and_nothing_built(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CMakeLists.txt", "cpp/kernel.hpp"} <= names
    assert "src/paretocut/py.typed" in names
    # The other tests need the whole checkout.
    assert {name for name in names if name.startswith("tests/")} == {
        "tests/test_minimal.py",
        "tests/wheel.ini",
    }
    assert {f"src/{name}" for name in PAGE} <= names
    assert not [name for name in names if name.startswith(("build/", ".venv", "dist/", ".git/"))]
    assert not [name for name in names if name.endswith((".so", ".pyc", "_kernel.pyi"))]
    assert sdist.stat().st_size < 2_000_000


@pytest.mark.parametrize(("version", "tag"), [("3.11", "cp311-cp311"), ("3.12", "cp312-abi3")])
def test_wheel_has_the_module_its_types_and_the_licence(
    version: str, tag: str, builder: Builder
) -> None:
    wheel = builder.wheel(version)
    assert f"-{tag}-" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    assert "paretocut/py.typed" in names
    assert "paretocut/_kernel.pyi" in names
    assert set(names) >= PAGE
    assert len([n for n in names if n.startswith("paretocut/_kernel.") and n.endswith(".so")]) == 1
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"paretocut"}
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("built_by", "used_by"), [("3.11", "3.11"), ("3.12", "3.12"), ("3.12", "3.13")]
)
def test_wheel_works_with_numpy_alone(
    built_by: str, used_by: str, builder: Builder, tmp_path: Path
) -> None:
    interpreter(used_by)
    check_install(tmp_path, used_by, builder.wheel(built_by))


def test_the_explorer_of_the_installed_wheel_opens(builder: Builder, tmp_path: Path) -> None:
    python = environment(tmp_path / "venv", THIS_PYTHON, f"{builder.wheel(THIS_PYTHON)}[serve]")
    lists = planted(5)
    pc.io.write_trec(tmp_path / "run.txt", lists)
    with (
        explored(tmp_path / "run.txt", python=python, cwd=tmp_path) as address,
        chromium() as browser,
    ):
        page = browser.new_page()
        page.goto(f"{address}#view=query&q=q3")
        page.wait_for_selector(".cut-chart svg")
        assert page.locator("#k").inner_text() == str(pc.cut(lists[3].scores).k)
    report = tmp_path / "report.html"
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "starlette", "uvicorn")
    run(python, "-m", "paretocut", "report", tmp_path / "run.txt", "-o", report, cwd=tmp_path)
    assert report.stat().st_size > 50_000


def test_gcc_clang_and_a_build_without_avx_give_the_same_bits(
    builder: Builder, tmp_path: Path
) -> None:
    builds = {
        "gcc": builder.wheel(THIS_PYTHON, compiler="g++"),
        "baseline": builder.wheel(
            THIS_PYTHON, "--config-settings=cmake.define.PARETOCUT_BASELINE_ONLY=ON"
        ),
    }
    if shutil.which("clang++") is None:
        missing("clang++ is not installed")
    builds["clang"] = builder.wheel(THIS_PYTHON, compiler="clang++")
    digests = {}
    for name, wheel in builds.items():
        folder = tmp_path / name
        folder.mkdir()
        python = check_install(folder, THIS_PYTHON, wheel)
        digests[name] = fingerprint(python, folder)
        if name == "baseline":
            code = "from paretocut import _kernel; print(_kernel.available_isas())"
            assert run(python, "-c", code, cwd=folder).split() == ["baseline"]
    assert len(set(digests.values())) == 1, digests


def test_lowest_numpy_is_enough(builder: Builder, tmp_path: Path) -> None:
    python = environment(
        tmp_path / "venv", "3.11", "numpy==1.26.0", builder.wheel("3.11"), "pytest"
    )
    # The release's own test of a wheel: it stopped at hypothesis, which the clean machine lacks.
    release = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    assert release["test-requires"] == ["pytest"]
    _, *command = shlex.split(release["test-command"].replace("{project}", str(ROOT)))
    assert "passed" in run(python, *command, cwd=tmp_path)


FRAMES = """
import warnings
import numpy, pandas, polars, pyarrow
import paretocut as pc
from paretocut.io import read_lists, write_lists

warnings.simplefilter("ignore", UserWarning)  # one list is short
noise = -numpy.log(numpy.linspace(0.005, 0.995, 197))
scores = [12.0, *noise.tolist(), 11.0]
expected = pc.cut(scores, evalue=0.05).k
rows = {"query_id": ["q1"] * 199 + ["q2"] * 199, "score": [*scores, *scores]}
for frame in (pandas.DataFrame(rows), polars.DataFrame(rows), pyarrow.table(rows)):
    kept = pc.keep(frame, query="query_id", score="score", evalue=0.05, explain=["k"])
    assert len(kept) == 2 * expected == 4
    assert kept["score"].to_numpy().tolist() == [12.0, 11.0] * 2
for frame in (pandas.DataFrame, polars.DataFrame, pyarrow.table):
    cells = frame({"scores": [scores, [1.0]]})["scores"]
    assert pc.cut_batch(cells, evalue=0.05).k[0] == expected
ranked = pc.RankedLists([scores, [3.0, 1.0]], doc_ids=[[str(i) for i in range(199)], ["a", "b"]])
for name in ("lists.parquet", "lists.arrow"):
    write_lists(name, ranked)
    assert read_lists(name).scores.values.tolist() == ranked.scores.values.tolist()
print(numpy.__version__, pandas.__version__, polars.__version__)
"""


def test_lowest_versions_of_frames_are_enough(builder: Builder, tmp_path: Path) -> None:
    lowest = ("numpy==1.26.0", "pandas==2.0.0", "polars==1.20.0", "pyarrow==15.0.0")
    python = environment(tmp_path / "venv", "3.11", *lowest, builder.wheel("3.11"))
    assert run(python, "-c", FRAMES, cwd=tmp_path).split()[-3:] == ["1.26.0", "2.0.0", "1.20.0"]


def test_the_readme_shows_and_links_on_a_package_index() -> None:
    """Without an address yet, a relative link must at least lead to a file of the project."""
    importorskip("comrak")
    renderer = importorskip("readme_renderer.markdown")
    page = renderer.render((ROOT / "README.md").read_text(encoding="utf-8"))
    links = re.findall(r'(?:href|src)="(?!https?://|#)([^"#]+)', page)
    assert "<table>" in page
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if project["urls"]:
        assert links == []
    else:
        assert [link for link in links if not (ROOT / link).exists()] == []


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# Retired ones are not in this list: https://github.com/actions/runner-images
RUNNERS = {
    *("ubuntu-latest", "ubuntu-24.04", "ubuntu-24.04-arm", "windows-latest", "windows-2025"),
    *("macos-latest", "macos-15", "macos-15-intel", "macos-14"),
}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_one_and_its_runners_exist(path: Path) -> None:
    importorskip("check_jsonschema")
    run(
        sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows",
        path,
    )  # fmt: skip
    jobs = importorskip("yaml").safe_load(path.read_text(encoding="utf-8"))["jobs"]
    for job in jobs.values():
        matrix = job.get("strategy", {}).get("matrix", {})
        assert set(matrix.get("os", [job["runs-on"]])) <= RUNNERS


def test_the_steps_of_the_release_work_as_far_as_this_machine_can(
    builder: Builder, tmp_path: Path
) -> None:
    """The commands of the sdist and the wheels are run, but for the builds in containers."""
    importorskip("twine")
    importorskip("abi3audit")
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    jobs = importorskip("yaml").safe_load(text)["jobs"]
    commands = [
        step["run"] for job in ("sdist", "wheels") for step in jobs[job]["steps"] if "run" in step
    ]
    (tmp_path / "dist").mkdir()
    for built in (builder.sdist, builder.wheel("3.12")):
        shutil.copy(built, tmp_path / "dist")
    ran = []
    for command in commands:
        if not any(words in command for words in ("pip install", "-m build", "cibuildwheel")):
            run("bash", "-euo", "pipefail", "-c", command.replace("python", sys.executable, 1),
                cwd=tmp_path)  # fmt: skip
            ran.append(command.split()[2])
    assert ran == ["twine", "abi3audit"]


def test_the_steps_of_the_container_work_as_far_as_this_machine_can(tmp_path: Path) -> None:
    """All but those of Debian's root: the service is installed, starts and is found healthy."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", "")
    left_out = (ROOT / ".dockerignore").read_text(encoding="utf-8").replace("**/", "").split()
    kept_out = shutil.ignore_patterns(*left_out, "_build")
    shutil.copytree(ROOT, tmp_path / "source", ignore=kept_out, symlinks=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    for inside, here in (("/source", "source"), ("/opt/paretocut", "installed")):
        text = text.replace(inside, str(tmp_path / here))
    text = text.replace("8000", port)
    steps = [step for step in re.findall(r"^RUN (.+)$", text, re.MULTILINE) if "venv" in step]
    assert len(steps) == 1
    run("sh", "-euc", steps[0].replace("python", str(interpreter(THIS_PYTHON)), 1))
    (path,) = re.findall(r"PATH=(\S+):", text)
    (start,) = re.findall(r"^ENTRYPOINT (.+)$", text, re.MULTILINE)
    (healthy,) = re.findall(r"^HEALTHCHECK.* CMD (.+)$", text, re.MULTILINE)
    told = {"PATH": f"{path}:/usr/bin:/bin", "PARETOCUT_TOKEN": "secret"}
    service = subprocess.Popen(
        [*json.loads(start), "--port", port], env=told, executable=f"{path}/paretocut"
    )
    try:
        until(
            lambda: (
                not subprocess.call(
                    json.loads(healthy),
                    env=told,
                    executable=f"{path}/python",
                    stderr=subprocess.DEVNULL,
                )
            ),
            seconds=120,
        )
        asked = urllib.request.Request(f"http://127.0.0.1:{port}/v1/cut", b'{"scores": [3, 2, 1]}')
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(asked)
        asked.add_header("Authorization", "Bearer secret")
        with urllib.request.urlopen(asked) as answer:
            assert json.load(answer)["n"] == 3
    finally:
        service.terminate()
        assert service.wait(60) in (0, -signal.SIGTERM)


def machine_without_a_compiler(folder: Path) -> Path:
    """Return a folder of programs, to be the whole PATH, with all a build needs but compilers."""
    folder.mkdir()
    for name in ("sh", "env", "uname", "cat", "make", "ld", "ar"):
        found = shutil.which(name)
        if found:
            (folder / name).symlink_to(found)
    return folder


def test_installing_without_a_compiler_says_what_to_install(sdist: Path, tmp_path: Path) -> None:
    programs = machine_without_a_compiler(tmp_path / "bin")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", sdist],
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k != "CXX"} | {"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    output = " ".join((done.stdout + done.stderr).split())
    assert "no C++ compiler was found. Install one" in output


def test_make_without_a_compiler_says_what_to_install(tmp_path: Path) -> None:
    programs = machine_without_a_compiler(tmp_path / "bin")
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "check_machine.py"],
        env={k: v for k, v in os.environ.items() if k != "CXX"} | {"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "no compiler was found" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_make_with_an_old_python_says_which_is_needed(tmp_path: Path) -> None:
    done = subprocess.run(
        [interpreter("3.10"), ROOT / "scripts" / "check_machine.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "needs Python 3.11 or later" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_this_machine_is_found_fit() -> None:
    assert Path(sysconfig.get_path("include"), "Python.h").exists()
    run(sys.executable, ROOT / "scripts" / "check_machine.py")
