"""Who is let in: basic credentials, JSON web tokens, access tokens."""

import asyncio
import time

import pytest
import requests
from arango import ArangoClient
from arango.exceptions import JWTAuthError, ServerConnectionError
from arangoasync import ArangoClient as AsyncArangoClient
from arangoasync.auth import Auth

from tests.arangosim import ArangoSim

PASSWORD = "geheim ü:1"


@pytest.fixture
def locked():
    with ArangoSim(root_password=PASSWORD) as running:
        yield running


@pytest.mark.parametrize(
    "header",
    [None, "", "Basic", "Basic !!!", "Basic cm9vdDp3cm9uZw==", "Bearer nonsense", "Digest x", "Basic //8="],
)
def test_wrong_or_missing_credentials_are_401_with_number_11(locked, header):
    headers = {} if header is None else {"Authorization": header}

    answer = requests.get(f"{locked.url}/_api/version", headers=headers, timeout=5)

    assert (answer.status_code, answer.json()["errorNum"]) == (401, 11)
    assert "WWW-Authenticate" in answer.headers


def test_the_database_is_not_revealed_to_strangers(locked):
    answer = requests.get(f"{locked.url}/_db/absent/_api/version", timeout=5)

    assert answer.status_code == 401


@pytest.mark.parametrize("method", ["basic", "jwt"])
def test_python_arango_gets_in_by_both_methods(locked, method):
    client = ArangoClient(hosts=locked.url)
    # requests sends a str password as latin-1, the server reads UTF-8.
    password = PASSWORD.encode() if method == "basic" else PASSWORD
    db = client.db("_system", password=password, auth_method=method, verify=True)
    assert db.version() == "3.12.6"
    client.close()


@pytest.mark.filterwarnings("ignore:BasicAuth is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:The 'auth' parameter is deprecated:DeprecationWarning")
@pytest.mark.parametrize("method", ["basic", "jwt"])
def test_python_arango_async_gets_in_by_both_methods(locked, method):
    async def version() -> str:
        async with AsyncArangoClient(hosts=locked.url) as client:
            db = await client.db("_system", auth_method=method, auth=Auth("root", PASSWORD), verify=True)
            return (await db.version())["version"]

    assert asyncio.run(version()) == "3.12.6"


def test_a_wrong_password_is_refused_by_the_login_and_by_basic(locked):
    client = ArangoClient(hosts=locked.url)
    with pytest.raises(JWTAuthError) as caught:
        client.db("_system", password="wrong", auth_method="jwt")
    assert (caught.value.error_code, caught.value.http_code) == (401, 401)
    with pytest.raises(ServerConnectionError):
        client.db("_system", password="wrong", verify=True)
    client.close()


def test_an_expired_web_token_is_401(locked):
    expired = locked.state.accounts.__class__(secret=locked.state.accounts.secret, jwt_seconds=-60)
    expired.passwords["root"] = "x"

    answer = requests.get(
        f"{locked.url}/_api/version", headers={"Authorization": f"bearer {expired.log_in('root', 'x')}"}, timeout=5
    )

    assert (answer.status_code, answer.json()["errorNum"]) == (401, 11)


def test_an_access_token_works_as_bearer_and_as_password_until_it_is_revoked_or_over(locked):
    client = ArangoClient(hosts=locked.url)
    db = client.db("_system", password=PASSWORD, auth_method="jwt")
    token = db.create_access_token("root", "ci", int(time.time()) + 1000)
    old = db.create_access_token("root", "old", int(time.time()) - 1)

    def status(headers=None, auth=None):
        return requests.get(f"{locked.url}/_api/version", headers=headers, auth=auth, timeout=5).status_code

    assert status({"Authorization": f"bearer {token['token']}"}) == 200
    assert status(auth=("", token["token"])) == 200
    assert status({"Authorization": f"bearer {old['token']}"}) == 401
    assert [known["name"] for known in db.list_access_tokens("root")] == ["ci", "old"]
    assert all("token" not in known for known in db.list_access_tokens("root"))
    db.delete_access_token("root", token["id"])
    assert status({"Authorization": f"bearer {token['token']}"}) == 401
    client.close()


def test_without_authentication_everybody_is_let_in():
    with ArangoSim(authentication=False) as sim:
        assert requests.get(f"{sim.url}/_api/version", timeout=5).status_code == 200
