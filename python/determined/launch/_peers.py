"""What the containers of an allocation agree on before anything starts: by way of the master."""

import json
import os
import secrets
import uuid
from typing import TYPE_CHECKING, Any, List, Tuple

from determined import _info

if TYPE_CHECKING:
    from determined import _http


def session(info: _info.ClusterInfo) -> "_http.Session":
    """To the master, in the name of this task."""
    # Not before it is needed: most launchers do without the network, and start sooner without its modules.
    from determined import _http

    return _http.Session(
        info.master_url, info.session_token, cert_file=info.master_cert_file, cert_name=info.master_cert_name
    )


def all_gather(info: _info.ClusterInfo, data: Any) -> List[Any]:
    """Give each container ``data`` (anything that fits into JSON) of every other, in rank order."""
    from determined import _routes

    request = _routes.allocation_all_gather(
        info.allocation_id,
        request_uuid=str(uuid.uuid4()),
        num_peers=len(info.container_addrs),
        data={"rank": info.container_rank, "data": json.dumps(data)},
    )
    given = session(info).send(request)["data"]
    return [json.loads(piece["data"]) for piece in sorted(given, key=lambda piece: piece["rank"])]


def agree(info: _info.ClusterInfo, port: int) -> Tuple[str, int]:
    """What the chief's launcher says for all containers, in one exchange.

    Parameters
    ----------
    info : ClusterInfo
    port : int
        Where the chief finds that the processes can meet. The other containers' word does not count.

    Returns
    -------
    key : str
        A secret of this allocation's processes. That of an outer launcher is kept, with ``port`` as it is.
    port : int
    """
    given = os.environ.get(_info.TRIAL_KEY_VARIABLE)
    if given:
        return given, port
    mine = [secrets.token_hex(32), port] if info.container_rank == 0 else None
    key, port = all_gather(info, mine)[0]
    return str(key), int(port)
