"""The released client publishes ports of trials through our master."""
from released import PROGRAM, environment
from support.cluster import PASSWORD
from support.publishing import Publisher, exchange


def test_the_released_client_publishes_a_port(cluster, tmp_path):
    env = environment(cluster.url, tmp_path, password=PASSWORD, PYTHONUNBUFFERED="1")
    with Publisher(cluster, tmp_path, PROGRAM, env=env) as served:
        served.wait_serving()
        with served.connect() as c:
            data = b"0123456789" * 10000
            assert exchange(c, data) == data
