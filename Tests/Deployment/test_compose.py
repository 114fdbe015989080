"""deploy/compose.yaml, checked against the Compose Specification's schema and the command."""

import importlib.util
import json
import pathlib
import re
import subprocess

import jsonschema
import pytest
import yaml

HOUSE = pathlib.Path(__file__).resolve().parents[2]
FILE = HOUSE / "deploy/compose.yaml"
SLUICE = HOUSE / ".build/debug/sluice"
OURS = ["migrate", "coordinator", "worker"]


@pytest.fixture(scope="module")
def schema():
    # Beside the modules of docker-compose, whose dependencies are not installed.
    package = pathlib.Path(importlib.util.find_spec("compose").origin).parent
    return jsonschema.Draft201909Validator(json.loads((package / "config/compose_spec.json").read_text()))


@pytest.fixture
def file():
    return yaml.safe_load(FILE.read_text())


def test_it_fits_the_schema(schema, file):
    # The schema is older than the key `name`.
    assert file.pop("name") == "sluice"
    schema.validate(file)


@pytest.mark.parametrize("change", [{"comand": []}, {"cap_drop": "ALL"}, {"depends_on": {"x": {"condition": 3}}}])
def test_the_schema_notices_mistakes(schema, file, change):
    file.pop("name")
    file["services"]["worker"] |= change
    with pytest.raises(jsonschema.ValidationError):
        schema.validate(file)


def test_every_container_of_ours_is_locked_down(file):
    number = re.search(r'number = "(.*)"', (HOUSE / "Sources/PumpRoom/Wire/SluiceBuild.swift").read_text())[1]
    for name in OURS:
        service = file["services"][name]
        assert service["image"] == f"sluice:{number}"
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["secrets"] == ["database"]
        assert "environment" not in service and "ports" not in service
    assert file["networks"]["ledger"]["internal"] is True
    assert file["services"]["worker"]["deploy"]["replicas"] == 2


def test_names_refer_to_something(file):
    for name, service in file["services"].items():
        for kind in ["secrets", "networks"]:
            assert set(service[kind]) <= set(file[kind]), name
        assert set(service.get("depends_on", {})) <= set(file["services"]), name


def test_no_password_is_in_it(file):
    assert not re.search(r"postgres(ql)?://[^\s]*@", yaml.safe_dump(file))


def test_workers_get_more_time_to_stop_than_they_take(file):
    worker = file["services"]["worker"]
    grace = worker["command"][worker["command"].index("--grace") + 1]
    assert int(worker["stop_grace_period"].removesuffix("s")) >= int(grace.removesuffix("s")) + 15


@pytest.mark.parametrize("name", OURS)
def test_the_command_understands_its_words(file, name, tmp_path):
    """It gets as far as the address file, which does not exist here."""
    words = file["services"][name]["command"]
    words = [str(tmp_path / "none") if word == "/run/secrets/database" else word for word in words]
    words = [re.sub(r"/audio/\w+", str(tmp_path), word) for word in words]
    ran = subprocess.run([SLUICE, *words], env={"HOME": "/dev/null/none"}, capture_output=True, text=True)
    assert ran.returncode != 0
    assert str(tmp_path / "none") in ran.stderr and "usage" not in ran.stderr, ran.stderr
