"""Which of a service's paths are meant."""

from steelyard_runtime.paths import NO_PATHS, Paths


def test_exact_paths_and_those_under_others() -> None:
    paths = Paths(frozenset({"/v1/models"}), under=("/v1/models/",))
    assert "/v1/models" in paths
    assert "/v1/models/vendor/name" in paths
    assert "/v1/modelsx" not in paths
    assert "/v1" not in paths
    assert paths


def test_none_at_all() -> None:
    assert not NO_PATHS
    assert "" not in NO_PATHS
    assert "/v1/models" not in NO_PATHS
