"""What tests of DuckDB's extensions share: a stand-in for S3, and profiles with extensions. No fixtures."""

from __future__ import annotations

import urllib.request

import yaml

from tests.dbt_project import Project

BUCKET = "shop-dumps"


class ObjectStore:
    """A stand-in for S3 on this machine, with one bucket, which is empty to begin with."""

    def __init__(self, endpoint: str, requests: list[str]) -> None:
        import boto3

        self.endpoint, self.requests = endpoint, requests
        self._client = boto3.client(
            "s3",
            endpoint_url=f"http://{endpoint}",
            aws_access_key_id="nobody",
            aws_secret_access_key="nothing",
            region_name="us-east-1",
        )
        reset = urllib.request.Request(f"http://{endpoint}/moto-api/reset", method="POST")
        urllib.request.urlopen(reset).close()
        self._client.create_bucket(Bucket=BUCKET)

    def put(self, key: str, content: str | bytes) -> None:
        self._client.put_object(Bucket=BUCKET, Key=key, Body=content)

    @property
    def secret(self) -> dict[str, object]:
        """The secret as a profile of dbt-duckdb has it."""
        return {
            "type": "s3",
            "key_id": "nobody",
            "secret": "nothing",
            "region": "us-east-1",
            "endpoint": self.endpoint,
            "url_style": "path",
            "use_ssl": False,
        }


def write_profile(project: Project, extension_directory: str, **options: object) -> None:
    """Give a project's only target the extensions, and further options of dbt-duckdb."""
    output = {
        "type": "duckdb",
        "path": str(project.database),
        "config_options": {"extension_directory": extension_directory},
        **options,
    }
    profile = {project.name: {"target": "dev", "outputs": {"dev": output}}}
    project.write("profiles.yml", yaml.safe_dump(profile))
