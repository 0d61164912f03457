"""The SDK of generation 1 (purity_fb) against the simulated array."""

import pytest
from purity_fb import BucketPatch, BucketPost, FileSystem, NfsRule, ObjectStoreAccessKeyPost, PurityFb, Reference, rest


@pytest.fixture(params=["1.12", "1.9", "1.6"])
def client(array, request):
    client = PurityFb(array.management, version=request.param, ca_certs_file_path=str(array.certificate))
    assert client.login(array.token) == 200
    yield client
    assert client.logout() == 200


def create_bucket(client, name, account):
    """Before 1.8 the SDK has another name for the body."""
    body = BucketPost(account=Reference(name=account))
    try:
        return client.buckets.create_buckets(names=[name], bucket=body)
    except TypeError:
        return client.buckets.create_buckets(names=[name], account=body)


def destroy_bucket(client, name):
    """As above."""
    body = BucketPatch(destroyed=True)
    try:
        return client.buckets.update_buckets(names=[name], bucket=body)
    except TypeError:
        return client.buckets.update_buckets(names=[name], destroyed=body)


def test_the_newest_version_is_negotiated(array):
    client = PurityFb(array.management, api_token=array.token)
    assert str(client._version) == "1.12"
    assert client.list_versions()[0] == "1.0"
    [info] = client.arrays.list_arrays().items
    assert info.name == "simulated" and info.version and info.id


def test_a_wrong_token_is_refused(array):
    with pytest.raises(rest.ApiException) as refused:
        PurityFb(array.management, api_token="T-wrong")
    assert refused.value.status == 401


def test_interfaces_come_in_pages(client):
    seen, token = [], None
    while True:
        page = client.network_interfaces.list_network_interfaces(**({"token": token} if token else {}))
        seen += page.items
        token = page.pagination_info.continuation_token
        if not token:
            break
    assert page.pagination_info.total_item_count == 5 == len(seen)
    data = {item.name: item for item in seen if item.services == ["data"]}
    assert sorted(data) == ["data1", "data2", "data3"]
    first = data["data1"]
    assert first.address == "127.0.1.1" and first.enabled is True and first.mtu == 9000
    assert first.netmask == "255.255.255.0" and first.type == "vip" and first.vlan == 0
    assert data["data3"].enabled is False
    if hasattr(first, "subnet"):
        assert first.subnet.name == "fast" and first.subnet.resource_type == "subnets"
    filtered = client.network_interfaces.list_network_interfaces(filter="services='data' and enabled='true'")
    assert [item.name for item in filtered.items] == ["data1", "data2"]


def test_subnets(client):
    [subnet] = client.subnets.list_subnets(names=["fast"]).items
    assert subnet.prefix == "127.0.1.0/24" and subnet.mtu == 9000 and subnet.enabled is True
    assert [interface.name for interface in subnet.interfaces] == ["data1"]


def test_a_file_system_lives_and_dies(array, client):
    before = array.state()
    calls = client.file_systems
    wanted = FileSystem(name="fs", provisioned=1 << 30, nfs=NfsRule(v3_enabled=True, rules="*(rw,no_root_squash)"))
    [made] = calls.create_file_systems(file_system=wanted).items
    assert made.name == "fs" and made.provisioned == 1 << 30 and made.nfs.v3_enabled and made.created > 0
    with pytest.raises(rest.ApiException) as refused:
        calls.create_file_systems(file_system=wanted)
    assert refused.value.status == 400 and "already exists" in refused.value.body

    listed = calls.list_file_systems(names=["fs"])
    assert [item.name for item in listed.items] == ["fs"] and listed.total.space.virtual == 0
    with pytest.raises(rest.ApiException) as refused:
        calls.delete_file_systems(name="fs")
    assert refused.value.status == 400

    patch = FileSystem(nfs=NfsRule(v3_enabled=False), destroyed=True)
    [destroyed] = calls.update_file_systems(name="fs", attributes=patch).items
    assert destroyed.destroyed is True and destroyed.time_remaining > 0
    calls.delete_file_systems(name="fs")
    with pytest.raises(rest.ApiException) as refused:
        calls.list_file_systems(names=["fs"])
    assert "does not exist" in refused.value.body
    assert array.state() == before


def test_object_store_things_live_and_die_in_order(array, client):
    before = array.state()
    [account] = client.object_store_accounts.create_object_store_accounts(names=["account"]).items
    assert account.name == "account" and account.object_count == 0
    users = client.object_store_users
    [user] = users.create_object_store_users(names=["account/user"]).items
    assert user.name == "account/user" and user.account.name == "account"
    if hasattr(client, "object_store_access_policies"):
        add = client.object_store_access_policies.add_object_store_access_policies_object_store_users
        [member] = add(policy_names=["pure:policy/full-access"], member_names=["account/user"]).items
        assert member.member.name == "account/user" and member.policy.name == "pure:policy/full-access"
    keys = client.object_store_access_keys
    post = ObjectStoreAccessKeyPost(user=Reference(name="account/user"))
    [key] = keys.create_object_store_access_keys(object_store_access_key=post).items
    assert key.secret_access_key and key.enabled and key.user.name == "account/user"
    [listed] = keys.list_object_store_access_keys(names=[key.name]).items
    assert listed.secret_access_key is None, "the secret is told once"
    buckets = client.buckets
    [bucket] = create_bucket(client, "bucket", "account").items
    assert bucket.name == "bucket" and bucket.account.name == "account" and bucket.destroyed is False

    for too_early in (
        lambda: client.object_store_accounts.delete_object_store_accounts(names=["account"]),
        lambda: users.delete_object_store_users(names=["account/user"]),
        lambda: buckets.delete_buckets(names=["bucket"]),
    ):
        with pytest.raises(rest.ApiException) as refused:
            too_early()
        assert refused.value.status == 400

    [destroyed] = destroy_bucket(client, "bucket").items
    assert destroyed.destroyed is True
    buckets.delete_buckets(names=["bucket"])
    keys.delete_object_store_access_keys(names=[key.name])
    users.delete_object_store_users(names=["account/user"])
    client.object_store_accounts.delete_object_store_accounts(names=["account"])
    assert array.state() == before
