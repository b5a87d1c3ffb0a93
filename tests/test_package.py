"""What is built: a source distribution that has all there is, and a wheel that has what a user needs."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from fnmatch import fnmatch
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest
from installed import SHARED, TOOLS, USES
from reproducible import repack

ROOT = Path(__file__).parents[1]
GENERATED = ("*.egg-info", "__pycache__", "*.pyc", "build", "dist", ".*")
BUILD = "import sys, setuptools.build_meta as backend; getattr(backend, f'build_{sys.argv[1]}')(sys.argv[2])"


def built(what, source, folder):
    """A distribution, built without the network from the sources in a folder."""
    subprocess.run([sys.executable, "-c", BUILD, what, folder], cwd=source, check=True, capture_output=True)
    return next(folder.glob("*.tar.gz" if what == "sdist" else "*.whl"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The source distribution of a copy of the sources, unpacked."""
    place = tmp_path_factory.mktemp("sdist")
    copytree(ROOT, place / "copy", ignore=ignore_patterns(*GENERATED))
    with tarfile.open(built("sdist", place / "copy", place)) as archive:
        archive.extractall(place, filter="data")
    return next(path for path in place.iterdir() if path.is_dir() and path.name != "copy")


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    """The wheel that the source distribution gives, unpacked."""
    place = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(built("wheel", sdist, place)) as archive:
        archive.extractall(place)
    return place


@pytest.mark.long
def test_the_distributions_are_the_same_bytes_each_time(sdist, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    found = []
    for place in (tmp_path / "1", tmp_path / "2"):
        copytree(sdist, place / "copy", ignore=ignore_patterns(*GENERATED))
        for what in ("sdist", "wheel"):
            path = built(what, place / "copy", place)
            if what == "sdist":
                repack(path)
            found.append(path.read_bytes())
    assert found[:2] == found[2:]


def files(folder):
    """The files in a folder but the generated ones, and those that setuptools adds to a source distribution."""
    found = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    generated = {*GENERATED, "PKG-INFO", "setup.cfg"}
    return {
        path.as_posix() for path in found if not any(fnmatch(part, own) for part in path.parts for own in generated)
    }


@pytest.mark.long
def test_the_source_distribution_has_every_file_of_the_repository(sdist):
    assert files(sdist.parent / "copy") == files(sdist)


@pytest.mark.long
def test_the_wheel_has_a_manual_page_and_the_scripts_for_completion(wheel):
    (share,) = wheel.glob("*.data/data/share")
    assert files(share) == set(SHARED)
    made = {Path(name).name: (share / name).read_bytes() for name in SHARED}
    sources = [ROOT / "docs" / "agrad.1", *(ROOT / "docs" / "completions").iterdir()]
    assert made == {path.name: path.read_bytes() for path in sources}


def test_an_extra_for_users_is_tried_where_it_is_installed():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(USES) <= set(extras)
    assert set(extras) >= TOOLS


@pytest.mark.long
def test_the_wheel_has_the_three_floors_and_the_examples(wheel):
    found = {path.relative_to(wheel).as_posix() for path in wheel.rglob("*") if path.is_file()}
    info = {name for name in found if re.search(r"\.dist-info/|\.data/|\.whl$", name)}
    floors = {f"agrad/{name}" for name in files(ROOT) if name.startswith(("cli/", "grammar/", "engine/"))}
    inside = {
        name.replace("agrad/engine/torch/", "agrad/torch/").replace("agrad/engine/numpy/", "agrad/numpy/")
        for name in floors
        if not name.startswith("agrad/cli/package/")
    }
    examples = {f"agrad/{name}" for name in files(ROOT) if name.startswith("examples/")}
    assert found - info == inside | examples | {
        *(f"agrad/{name}" for name in ("__init__.py", "__init__.pyi", "__main__.py", "lazy.py"))
    }


@pytest.mark.long
def test_the_installed_package_runs_as_a_module_and_has_its_version_and_examples(wheel, tmp_path):
    place = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(wheel)}, "capture_output": True, "text": True}

    def python(*words):
        done = subprocess.run([sys.executable, *words], check=True, **place)
        assert done.stderr == ""
        return done.stdout

    version = python("-c", "import agrad; print(agrad.__version__, agrad.__file__)").split()
    assert version[1] == str(wheel / "agrad" / "__init__.py")
    assert python("-m", "agrad", "--version") == f"agrad {version[0]}\n"
    assert python("-m", "agrad", "eval", "a**2*2", "a=3", "--wrt", "a") == "18\nd/da = 12\n"
    assert "toy" in python("-m", "agrad", "examples")
    python("-m", "agrad", "examples", "--all")
    assert {path.name for path in (tmp_path / "examples").iterdir()} == set(os.listdir(ROOT / "examples"))


@pytest.mark.long
def test_what_a_package_index_shows_has_no_link_that_leads_nowhere(wheel):
    text = next(wheel.glob("*.dist-info/METADATA")).read_text("utf-8")
    page = message_from_string(text)
    assert page["Description-Content-Type"] == "text/markdown"
    body = page.get_payload()
    assert "# agrad" in body
    assert not re.findall(r"\]\((?!https?:)|<img|<source|<picture", body)
    assert "docs/tour.md" in body


def test_the_changelog_has_this_version():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    from agrad.cli import __version__

    assert headings[:2] == ["Unreleased", __version__]


def test_every_requirement_has_a_lower_bound():
    from lowest import constraints

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert len(constraints()) >= len(project["dependencies"]) + len(project["optional-dependencies"])
