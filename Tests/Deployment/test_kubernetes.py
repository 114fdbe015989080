"""The manifests in deploy/kubernetes, rendered by kubectl and checked against the schemas of Kubernetes and KEDA."""

import copy
import functools
import importlib
import json
import pathlib
import re
import subprocess
import sys

import kubernetes_validate
import pydantic
import pytest
import yaml

HOUSE = pathlib.Path(__file__).resolve().parents[2]
MANIFESTS = HOUSE / "deploy/kubernetes"
SLUICE = HOUSE / ".build/debug/sluice"
FOLDERS = ["base", "api", "autoscaled", "jobs", "keda", "migrate"]
KUBERNETES = "1.37"


@functools.cache
def render(folder):
    """The objects of a folder, as kubectl would send them."""
    kubectl = pathlib.Path(sys.executable).with_name("kubectl")
    rendered = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, check=True)
    assert not rendered.stderr
    return list(yaml.safe_load_all(rendered.stdout))


@pytest.fixture(scope="module", params=FOLDERS)
def objects(request):
    return render(MANIFESTS / request.param)


@pytest.fixture(scope="module")
def rendered():
    return {folder: render(MANIFESTS / folder) for folder in FOLDERS}


def one(objects, kind, name=None):
    found = [each for each in objects if each["kind"] == kind and name in (None, each["metadata"]["name"])]
    assert len(found) == 1, f"{kind} {name}: {len(found)}"
    return found[0]


def pods(objects):
    """The pod of each object that has one."""
    for each in objects:
        if each["kind"] in ("Deployment", "Job"):
            yield each["metadata"]["name"], each["spec"]["template"]
        elif each["kind"] == "ScaledJob":
            yield each["metadata"]["name"], each["spec"]["jobTargetRef"]["template"]


# Schemas


class UnknownField(ValueError):
    pass


def lost(before, after, path=""):
    """The fields of an object that its model does not have."""
    if isinstance(before, dict):
        for name, value in before.items():
            if name in after:
                yield from lost(value, after[name], f"{path}.{name}")
            else:
                yield f"{path}.{name}"
    elif isinstance(before, list):
        for place, pair in enumerate(zip(before, after)):
            yield from lost(*pair, f"{path}[{place}]")


def check(each):
    """Throws unless the object fits the schema of its kind."""
    if not each["apiVersion"].startswith("keda.sh/"):
        return kubernetes_validate.validate(each, KUBERNETES, strict=True)
    if each["kind"] == "ScaledJob":
        # What it starts has the schema of Kubernetes.
        each = copy.deepcopy(each)
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, "spec": each["spec"]["jobTargetRef"]}
        kubernetes_validate.validate(copy.deepcopy(job), KUBERNETES, strict=True)
        each["spec"]["jobTargetRef"] = {"template": {"spec": {"containers": [{"name": "job"}]}}}
    module = importlib.import_module(f"cloudcoil.models.keda.{each['apiVersion'].split('/')[1]}")
    found = getattr(module, each["kind"]).model_validate(each)
    # The models drop fields that they do not know, as Kubernetes would.
    if fields := list(lost(each, found.model_dump(by_alias=True, exclude_unset=True, mode="json"))):
        raise UnknownField(", ".join(fields))


def test_every_object_fits_its_schema(objects):
    assert objects
    for each in objects:
        check(each)


@pytest.mark.parametrize(
    "folder, kind, path, value",
    [
        ("base", "Deployment", ["spec", "template", "spec", "containers", 0, "argz"], []),
        ("base", "Deployment", ["spec", "replicas"], "many"),
        ("base", "NetworkPolicy", ["spec", "ingres"], []),
        ("autoscaled", "ScaledObject", ["spec", "maxReplicas"], 3),
        ("autoscaled", "ScaledObject", ["spec", "triggers", 0, "metdata"], {}),
        ("autoscaled", "ScaledObject", ["spec", "pollingInterval"], "soon"),
        ("autoscaled", "ScaledObject", ["spec", "advanced", "horizontalPodAutoscalerConfig", "behaviour"], {}),
        ("jobs", "ScaledJob", ["spec", "triggers"], None),
        ("jobs", "ScaledJob", ["spec", "jobTargetRef", "template", "spec", "containers", 0, "argz"], []),
    ],
)
def test_the_schemas_notice_mistakes(rendered, folder, kind, path, value):
    each = copy.deepcopy(next(each for each in rendered[folder] if each["kind"] == kind))
    place = each
    for part in path[:-1]:
        place = place[part]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    with pytest.raises((kubernetes_validate.ValidationError, pydantic.ValidationError, UnknownField)):
        check(each)


# What the manifests promise


def test_every_pod_is_locked_down(objects):
    for name, pod in pods(objects):
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["runAsUser"] == 10001, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, name
            assert "memory" in container["resources"]["limits"], name
        for volume in spec["volumes"]:
            # Only the coordinators of the API keep something of their own, for as long as it arrives.
            kinds = {"configMap", "secret", "persistentVolumeClaim"} | ({"emptyDir"} if volume["name"] == "arriving" else set())
            assert set(volume) & kinds, f"{name}: {volume['name']}"


def test_no_password_is_in_a_manifest(objects):
    text = yaml.safe_dump_all(objects)
    assert "Secret" not in [each["kind"] for each in objects]
    assert not re.search(r"postgres(ql)?://", text)
    for name, pod in pods(objects):
        for container in pod["spec"]["containers"]:
            assert not container.get("env") and not container.get("envFrom"), name
        assert all(volume["secret"]["defaultMode"] == 0o440 for volume in pod["spec"]["volumes"] if "secret" in volume)


def test_images_and_settings_have_their_whole_names(rendered):
    number = re.search(r'number = "(.*)"', (HOUSE / "Sources/PumpRoom/Wire/SluiceBuild.swift").read_text())[1]
    for folder, objects in rendered.items():
        settings = [each["metadata"]["name"] for each in objects if each["kind"] == "ConfigMap"]
        for name, pod in pods(objects):
            for container in pod["spec"]["containers"]:
                assert container["image"] == f"sluice:{number}", f"{folder}: {name}"
            used = [volume["configMap"]["name"] for volume in pod["spec"]["volumes"] if "configMap" in volume]
            assert used == (settings if settings else []), f"{folder}: {name}"


@pytest.fixture(scope="module")
def settings(rendered, tmp_path_factory):
    """The settings of the pods as the command understands them."""
    file = tmp_path_factory.mktemp("settings") / "sluice.conf"
    file.write_text(one(rendered["base"], "ConfigMap")["data"]["sluice.conf"])
    address = file.with_name("database")
    address.write_text("postgresql://pump:secret@db/audio\n")
    file.write_text(file.read_text().replace("/run/secrets/sluice/database", str(address)))
    shown = subprocess.run(
        [SLUICE, "config", "show", "--json"],
        env={"SLUICE_CONFIG": str(file), "HOME": "/dev/null/none", "XDG_DATA_HOME": "/dev/null/none"},
        capture_output=True,
        text=True,
    )
    assert shown.returncode == 0, shown.stderr
    listed = [json.loads(line) for line in shown.stdout.splitlines()]
    return {each["setting"]: each.get("value") for each in listed}


def seconds(text):
    return float(re.fullmatch(r"([0-9.]+)([smh])", text)[1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


def test_pods_get_more_time_to_stop_than_the_worker_takes(rendered, settings):
    # After `grace` the worker hands back its jobs, which may take ten seconds.
    needed = seconds(settings["grace"]) + 15
    for folder in ["base", "autoscaled", "jobs"]:
        found = dict(pods(rendered[folder]))["sluice-worker"]
        assert found["spec"]["terminationGracePeriodSeconds"] > needed, folder


def test_processors_memory_and_targets_fit_the_slots(rendered, settings):
    slots = int(settings["slots"])
    room = int(re.fullmatch(r"([0-9]+)GiB", settings["room-memory"])[1])
    for folder in ["base", "autoscaled", "jobs"]:
        resources = dict(pods(rendered[folder]))["sluice-worker"]["spec"]["containers"][0]["resources"]
        assert int(resources["requests"]["cpu"]) == slots, folder
        assert int(resources["limits"]["memory"].removesuffix("Gi")) > slots * room, folder
    for folder, kind in [("autoscaled", "ScaledObject"), ("jobs", "ScaledJob")]:
        [trigger] = one(rendered[folder], kind)["spec"]["triggers"]
        assert int(trigger["metadata"]["targetQueryValue"]) == slots, folder


def test_workers_of_the_two_shapes_differ_only_where_they_must(rendered):
    stays = dict(pods(rendered["base"]))["sluice-worker"]
    ends = copy.deepcopy(dict(pods(rendered["jobs"]))["sluice-worker"])
    assert ends["spec"]["containers"][0]["args"] == ["worker", "--until-idle"]
    assert ends["spec"].pop("restartPolicy") == "Never"
    ends["spec"]["containers"][0]["args"] = ["worker"]
    del ends["metadata"]["annotations"]
    assert ends == stays


def test_the_autoscaler_owns_the_number_of_workers(rendered):
    assert "replicas" not in one(rendered["autoscaled"], "Deployment", "sluice-worker")["spec"]
    assert one(rendered["base"], "Deployment", "sluice-coordinator")["spec"]["replicas"] == 2
    names = [(each["kind"], each["metadata"]["name"]) for each in rendered["jobs"]]
    assert ("Deployment", "sluice-worker") not in names and ("PodDisruptionBudget", "sluice-worker") not in names
    assert ("PodDisruptionBudget", "sluice-coordinator") in names


def test_probes_and_service_lead_to_the_api(rendered):
    description = (HOUSE / "docs/api-reference.md").read_text()
    pod = dict(pods(rendered["api"]))["sluice-coordinator"]
    [container] = pod["spec"]["containers"]
    [port] = container["ports"]
    assert container["args"][1:3] == ["--listen", f"0.0.0.0:{port['containerPort']}"]
    for probe in ["readinessProbe", "livenessProbe"]:
        asked = container[probe]["httpGet"]
        assert asked["port"] == port["name"] and f"`GET {asked['path']}` | no token needed" in description, probe
    service = one(rendered["api"], "Service")
    policy = one(rendered["api"], "NetworkPolicy", "sluice-api")
    assert service["spec"]["ports"][0]["targetPort"] == port["name"]
    assert policy["spec"]["ingress"][0]["ports"][0]["port"] == port["name"]
    for wanted in [service["spec"]["selector"], policy["spec"]["podSelector"]["matchLabels"]]:
        matching = [name for name, each in pods(rendered["api"]) if wanted.items() <= each["metadata"]["labels"].items()]
        assert matching == ["sluice-coordinator"]


def test_selectors_find_the_pods(rendered):
    for folder in ["base", "api", "autoscaled"]:
        for each in rendered[folder]:
            if each["kind"] in ("Deployment", "PodDisruptionBudget"):
                wanted = each["spec"]["selector"]["matchLabels"].items()
                matching = [name for name, pod in pods(rendered[folder]) if wanted <= pod["metadata"]["labels"].items()]
                assert matching == [each["metadata"]["name"]], f"{folder}: {each['kind']}"
    for folder in ["base", "jobs", "migrate"]:
        wanted = one(rendered["base"], "NetworkPolicy", "sluice")["spec"]["podSelector"]["matchLabels"].items()
        assert all(wanted <= pod["metadata"]["labels"].items() for _, pod in pods(rendered[folder])), folder


def test_the_queries_call_what_the_ledger_has(rendered):
    definition = re.search(
        r"create or replace function demand\((.*?)\) returns bigint", (HOUSE / "migrations/functions/listing.sql").read_text()
    )
    assert definition and "waiting_only boolean" in definition[1]
    queries = {
        kind: one(rendered[folder], kind)["spec"]["triggers"][0]["metadata"]["query"]
        for folder, kind in [("autoscaled", "ScaledObject"), ("jobs", "ScaledJob")]
    }
    assert queries == {
        "ScaledObject": "select sluice.demand()",
        "ScaledJob": "select sluice.demand(waiting_only => true)",
    }


def test_the_command_knows_the_words(rendered):
    for objects in rendered.values():
        for name, pod in pods(objects):
            words = pod["spec"]["containers"][0]["args"]
            helped = subprocess.run([SLUICE, "help", words[0]], capture_output=True, text=True, check=True).stdout
            assert all(word in helped for word in words if word.startswith("--")), name
