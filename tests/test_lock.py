"""The lock of what the workflows install: each file of each package by its hash."""

import re
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / ".ci" / "lock.txt").read_text("utf-8")
ENTRY = re.compile(
    r"^([a-z0-9-]+)==([\w.]+)(?: ; (.+?))?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n",
    re.MULTILINE,
)
PLACES = [
    {
        "python_version": f"3.{minor}",
        "python_full_version": f"3.{minor}.9",
        "sys_platform": system,
        "platform_system": {"linux": "Linux", "darwin": "Darwin"}[system],
        "platform_machine": {"linux": "x86_64", "darwin": "arm64"}[system],
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "os_name": "posix",
    }
    for minor in (11, 12, 13)
    for system in ("linux", "darwin")
]
"""Where the workflows test."""


def locked(place: dict[str, str]) -> dict[str, str]:
    """The versions that are installed there, by name; each once."""
    found = [
        (name, version)
        for name, version, marker, _ in ENTRY.findall(LOCK)
        if not marker or Marker(marker).evaluate(place)
    ]
    assert len(found) == len(dict(found))
    return dict(found)


def test_all_in_the_lock_is_a_version_with_hashes():
    assert ENTRY.sub("", LOCK) == ""
    assert len(ENTRY.findall(LOCK)) > 100


def test_the_lock_has_the_versions_of_the_constraints():
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    assert len(pins) > 30
    for place in PLACES:
        found = locked(place)
        for pin in pins:
            name = canonicalize_name(pin.name)
            # Triton is for Linux alone.
            if name != "triton" or place["sys_platform"] == "linux":
                assert pin.specifier.contains(found[name]), (name, place)


def test_the_lock_has_all_that_is_needed():
    """By what installed packages say; what those need that are not here is left out."""
    for place in PLACES:
        found, seen = locked(place), set()
        todo = [Requirement("sgat[dev]"), Requirement("setuptools")]
        while todo:
            one = todo.pop()
            for extra in ("", *one.extras):
                key = canonicalize_name(one.name), extra
                if key in seen:
                    continue
                seen.add(key)
                try:
                    needs = requires(one.name) or []
                except PackageNotFoundError:
                    continue
                for need in map(Requirement, needs):
                    asked = {**place, "extra": extra}
                    if need.marker is None or need.marker.evaluate(asked):
                        todo.append(need)
            if (name := canonicalize_name(one.name)) != "sgat":
                assert one.specifier.contains(found[name], prereleases=True), one
        assert len(seen) > 100


def test_the_workflows_install_from_the_lock():
    text = (ROOT / ".github" / "workflows" / "checks.yml").read_text("utf-8")
    jobs = re.split(r"^  (?=[a-z]+:\n)", text.partition("\njobs:\n")[2], flags=re.M)
    jobs = {job.partition(":")[0]: job for job in jobs if job}
    with_lock = {name for name, job in jobs.items() if "make install-locked" in job}
    assert with_lock == {"lint", "tests", "docs"}
    recipe = (ROOT / "Makefile").read_text("utf-8").partition("\ninstall-locked:")[2]
    installs = [x for x in recipe.partition("\n\n")[0].splitlines() if "pip inst" in x]
    assert len(installs) == 3
    assert all("--require-hashes" in x or "--no-deps" in x for x in installs)
