"""Sessions that expire early, with both SDKs."""

from purity_fb import PurityFb, rest
from pypureclient import flashblade
from pypureclient.responses import ValidResponse
from simulated_array import SimulatedArray


def test_an_expired_session_is_told_and_renewed():
    with SimulatedArray("--fault", "session=calls:2") as array:
        new = flashblade.Client(array.management, api_token=array.token, verify_ssl=False)
        for _ in range(7):
            assert isinstance(new.get_arrays(), ValidResponse), "the SDK logs in again by itself"
        new._token_man.close_session()
        old = PurityFb(array.management, api_token=array.token)
        statuses = []
        for _ in range(3):
            try:
                old.arrays.list_arrays()
                statuses.append(200)
            except rest.ApiException as refused:
                statuses.append(refused.status)
        assert statuses == [200, 200, 401]
