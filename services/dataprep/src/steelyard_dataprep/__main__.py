"""`python -m steelyard_dataprep`: run the ingestion service."""

from steelyard_runtime.serve import run

from .settings import DataprepSettings

if __name__ == "__main__":
    run("dataprep", DataprepSettings, lambda settings: settings.dataprep_port, "steelyard_dataprep.app:build")
