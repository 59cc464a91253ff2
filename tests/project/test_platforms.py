"""The kernel and its own tests, built by other compilers, for other processors and systems.

Programs for Linux are run, under an emulator where the processor is another one, and must give the
same bits as here. For macOS and Windows the sources are compiled: nothing here can run them.
Marked `packaging`.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT, importorskip, missing

pytestmark = pytest.mark.packaging

# As CMakeLists.txt has them for the engine without special instructions.
FLAGS = (
    "-std=c++20 -O2 -ffp-contract=off -fno-math-errno -fno-trapping-math -Wno-psabi -pthread "
    "-DPARETOCUT_ISA=baseline -DPARETOCUT_LANES=2"
).split()


def program(name: str, package: str) -> str:
    found = shutil.which(name)
    if found is None:
        missing(f"{name} is not installed (Debian: apt install {package})")
    return found


def sources() -> list[str]:
    """Return the kernel and its tests, without what knows Python."""
    kernel = [path for path in (ROOT / "cpp").glob("*.cpp") if path.name != "bindings.cpp"]
    return sorted(map(str, [*kernel, *(ROOT / "cpp" / "tests").glob("*.cpp")]))


def compile_with(compiler: list[str], *arguments: str, folder: Path) -> None:
    """Run a compiler in a folder."""
    done = subprocess.run(
        [*compiler, *FLAGS, *arguments], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr


def build(folder: Path, compiler: list[str]) -> Path:
    """Return the tests of the kernel, built by this compiler."""
    compile_with(compiler, *sources(), "-o", "paretocut_tests", folder=folder)
    return folder / "paretocut_tests"


def run(command: list[str]) -> str:
    """Return the digest that the tests print of what the engine computed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert ", 0 failed" in done.stdout
    return done.stdout.split("digest ")[1].split()[0]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the digest of the results of this machine's own compiler."""
    folder = tmp_path_factory.mktemp("here")
    return run([str(build(folder, [program("g++", "g++")]))])


@pytest.mark.parametrize("library", ["libstdc++", "libc++"])
def test_clang_passes_the_tests_with_either_standard_library(
    library: str, expected: str, tmp_path: Path
) -> None:
    clang = program("clang++", "clang libc++-dev libc++abi-dev")
    assert run([str(build(tmp_path, [clang, f"-stdlib={library}"]))]) == expected


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the compiler is a cross compiler")
@pytest.mark.parametrize("processor", ["aarch64", "s390x"], ids=["arm", "big_endian"])
def test_another_processor_gives_the_same_bits(
    processor: str, expected: str, tmp_path: Path
) -> None:
    compiler = program(f"{processor}-linux-gnu-g++", f"g++-{processor}-linux-gnu")
    emulator = program(f"qemu-{processor}", "qemu-user")
    tests = build(tmp_path, [compiler, "-static"])
    assert run([emulator, str(tests)]) == expected


def zig(target: str) -> list[str]:
    """Return the compiler of the package ziglang, which brings the libraries of every system."""
    importorskip("ziglang")
    return [sys.executable, "-m", "ziglang", "c++", "-target", target]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program is for x86-64")
def test_musl_gives_the_same_bits(expected: str, tmp_path: Path) -> None:
    assert run([str(build(tmp_path, zig("x86_64-linux-musl")))]) == expected


@pytest.mark.parametrize(
    ("target", "magic"),
    [
        ("aarch64-macos", b"\xcf\xfa\xed\xfe"),
        ("x86_64-macos", b"\xcf\xfa\xed\xfe"),
        ("x86_64-windows-gnu", b"\x64\x86"),
    ],
)
def test_the_kernel_is_compiled_for_other_systems(
    target: str, magic: bytes, tmp_path: Path
) -> None:
    # Objects only: to link them, all libraries of the system would have to be built first.
    for i, source in enumerate(sources()):
        compile_with(zig(target), "-c", source, "-o", f"{i}.o", folder=tmp_path)
        assert (tmp_path / f"{i}.o").read_bytes().startswith(magic)


HASHED = """
#include <cstdio>
#include "ids.hpp"
int main() { std::printf("%llx\\n", (unsigned long long)paretocut::hash_id("document 1")); }
"""


def test_ids_are_hashed_with_another_secret_in_every_process(tmp_path: Path) -> None:
    # Else a file could be prepared whose ids all land in one place of the table.
    source, target = tmp_path / "hashed.cpp", tmp_path / "hashed"
    source.write_text(HASHED)
    compiler = [program("g++", "g++"), "-std=c++20", f"-I{ROOT / 'cpp'}"]
    subprocess.run([*compiler, str(source), "-o", str(target)], check=True)
    found = {
        subprocess.run([str(target)], capture_output=True, text=True, check=True).stdout
        for _ in range(4)
    }
    assert len(found) == 4
