"""The SDK of generation 2 (py-pure-client) against the simulated array."""

import pytest
from pypureclient import PureError, flashblade
from pypureclient.configuration import Configuration
from pypureclient.responses import ErrorResponse, ValidResponse


@pytest.fixture(params=["2.0", "2.11", "2.29"])
def client(array, request):
    trust = Configuration(ssl_ca_cert=str(array.certificate))
    trust.verify_ssl = True
    client = flashblade.Client(
        array.management, version=request.param, api_token=array.token, configuration=trust
    )
    yield client
    log_out(client)


def log_out(client):
    """Ends the session while the array exists: otherwise the SDK would try at exit."""
    client._token_man.close_session()


def name_of(reference):
    """The SDK leaves some references as dictionaries."""
    return reference["name"] if isinstance(reference, dict) else reference.name


def module(client):
    """The models of the version in use."""
    import importlib

    return importlib.import_module(type(client).__module__.rsplit(".", 1)[0])


def items(response):
    assert isinstance(response, ValidResponse), response
    return list(response.items)


def all_items(get):
    """Follows the continuation tokens, which this SDK's iterator leaves to its users."""
    found, token = [], None
    while True:
        page = get(**({"continuation_token": token} if token else {}))
        found += items(page)
        token = page.continuation_token
        if not token:
            assert page.total_item_count == len(found)
            return found


def refused(response, text, status=400):
    assert isinstance(response, ErrorResponse), response
    assert response.status_code == status
    assert text in response.errors[0].message, response.errors


def test_the_newest_version_is_negotiated(array):
    client = flashblade.Client(array.management, api_token=array.token, verify_ssl=False)
    assert ".FB_2_29." in type(client).__module__
    [info] = items(client.get_arrays())
    assert info.name == "simulated" and info.id and info.version
    log_out(client)


def test_a_wrong_token_is_refused(array):
    with pytest.raises(PureError):
        flashblade.Client(array.management, api_token="T-wrong", verify_ssl=False)


def test_interfaces_come_in_pages(client):
    seen = all_items(client.get_network_interfaces)
    assert len(seen) == 5
    data = {item.name: item for item in seen if item.services == ["data"]}
    first = data["data1"]
    assert first.address == "127.0.1.1" and first.enabled is True and first.mtu == 9000
    assert name_of(first.subnet) == "fast" and first.netmask == "255.255.255.0"
    assert data["data3"].enabled is False
    chosen = items(client.get_network_interfaces(filter="services='data' and enabled='true'"))
    assert [item.name for item in chosen] == ["data1", "data2"]
    page = client.get_network_interfaces(limit=2)
    assert len(list(page.items)) == 2 and page.continuation_token and page.total_item_count == 5


def test_subnets(client):
    [subnet] = items(client.get_subnets(names=["slow"]))
    assert subnet.prefix == "127.0.2.0/24" and subnet.mtu == 1500
    assert [interface.name for interface in subnet.interfaces] == ["data2"]


def test_a_file_system_lives_and_dies(array, client):
    before, fb = array.state(), module(client)
    post = fb.models.FileSystemPost(
        provisioned=1 << 30, nfs=fb.models.Nfs(v3_enabled=True, v4_1_enabled=False, rules="*(rw,no_root_squash)")
    )
    [made] = items(client.post_file_systems(names=["fs"], file_system=post))
    assert made.name == "fs" and made.nfs.v3_enabled and made.provisioned == 1 << 30
    refused(client.post_file_systems(names=["fs"], file_system=post), "already exists")

    response = client.get_file_systems(names=["fs"], destroyed=False)
    assert response.total.space.virtual == 0
    [listed] = items(response)
    assert listed.id == made.id and listed.destroyed is False
    refused(client.delete_file_systems(names=["fs"]), "must be destroyed")

    patch = fb.models.FileSystemPatch(nfs=fb.models.NfsPatch(v3_enabled=False), destroyed=True)
    [destroyed] = items(client.patch_file_systems(names=["fs"], file_system=patch))
    assert destroyed.destroyed is True and destroyed.time_remaining > 0
    assert isinstance(client.delete_file_systems(ids=[made.id]), ValidResponse)
    refused(client.get_file_systems(names=["fs"]), "does not exist")
    assert array.state() == before


def test_object_store_things_live_and_die_in_order(array, client):
    before, fb = array.state(), module(client)
    [account] = items(client.post_object_store_accounts(names=["account"], **account_body(client, fb)))
    assert account.name == "account" and account.object_count == 0
    [user] = items(client.post_object_store_users(names=["account/user"]))
    assert user.account.name == "account"
    attach = client.post_object_store_users_object_store_access_policies
    [member] = items(attach(member_names=["account/user"], policy_names=["pure:policy/full-access"]))
    assert member.member.name == "account/user" and member.policy.name == "pure:policy/full-access"
    listed = client.get_object_store_access_policies_object_store_users(member_names=["account/user"])
    assert [one.policy.name for one in items(listed)] == ["pure:policy/full-access"]
    assert len(all_items(client.get_object_store_access_policies)) >= 5

    post = fb.models.ObjectStoreAccessKeyPost(user=fb.models.ObjectStoreAccessKeyPostUser(name="account/user"))
    [key] = items(client.post_object_store_access_keys(object_store_access_key=post))
    assert key.secret_access_key and key.enabled
    [again] = items(client.get_object_store_access_keys(names=[key.name]))
    assert getattr(again, "secret_access_key", None) is None, "the secret is told once"

    body = fb.models.BucketPost(account=fb.models.ReferenceWritable(name="account"))
    [bucket] = items(client.post_buckets(names=["bucket"], bucket=body))
    assert bucket.account.name == "account" and bucket.destroyed is False
    refused(client.post_buckets(names=["bucket"], bucket=body), "already exists")

    refused(client.delete_object_store_accounts(names=["account"]), "users")
    refused(client.delete_object_store_users(names=["account/user"]), "access keys")
    refused(client.delete_buckets(names=["bucket"]), "must be destroyed")
    patch = (getattr(fb.models, "BucketPatch", None) or fb.models.Bucket)(destroyed=True)
    [destroyed] = items(client.patch_buckets(names=["bucket"], bucket=patch))
    assert destroyed.destroyed is True and destroyed.time_remaining > 0
    assert items(client.get_buckets(destroyed=True))[0].name == "bucket"
    for done in (
        client.delete_buckets(names=["bucket"]),
        client.delete_object_store_access_keys(names=[key.name]),
        client.delete_object_store_users(names=["account/user"]),
        client.delete_object_store_accounts(names=["account"]),
    ):
        assert isinstance(done, ValidResponse), done
    assert array.state() == before


def account_body(client, fb):
    """Later versions require a body for a new account."""
    post = getattr(fb.models, "ObjectStoreAccountPost", None)
    return {"object_store_account": post()} if post else {}
