import pathlib
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from support import search  # noqa: E402
from support.fault_proxy import FaultProxy  # noqa: E402
from support.mysql import MysqlServer  # noqa: E402
from support.pipeline import Pipeline  # noqa: E402
from support.server import Server, Unobtainable  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "long: only with scripts/test --full")


@pytest.fixture(scope="session")
def ground():
    """A folder that the servers' own user can reach."""
    path = tempfile.mkdtemp(prefix="cdc-e2e.")
    pathlib.Path(path).chmod(0o711)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def once(running, name, make, version, folder, settings):
    """What runs already with this version and these settings; one that cannot be had skips by name."""
    key = (version, settings)
    if key not in running:
        try:
            running[key] = make(version, folder, *settings)
        except Unobtainable as why:
            pytest.skip(f"{name}: {why}")
    return running[key]


@pytest.fixture(scope="session")
def servers(ground):
    """servers(version, *settings) starts a server once per session and settings."""
    running = {}

    def start(version=15, *settings):
        folder = f"{ground}/pg{version}-{len(running)}"
        return once(running, f"PostgreSQL {version}", Server, version, folder, settings)

    yield start
    for server in running.values():
        server.stop("immediate")


@pytest.fixture(scope="session")
def mysql_servers(ground):
    """mysql_servers("mariadb-10.11", *settings) starts a server once per session and settings."""
    running = {}

    def start(which="mariadb-10.11", *settings):
        return once(running, which, MysqlServer, which, f"{ground}/{which}-{len(running)}", settings)

    yield start
    for server in running.values():
        server.stop("kill")


@pytest.fixture(params=["mariadb-10.11", "mysql-9.7"])
def mysql_database(request, mysql_servers):
    """A database of its own on MariaDB, and once more on MySQL."""
    made = mysql_servers(request.param).new_database()
    yield made
    made.drop()


@pytest.fixture
def server(servers):
    return servers(15)


@pytest.fixture
def database(server):
    made = server.new_database()
    yield made
    made.drop()


@pytest.fixture
def table(database):
    """public.t with a thousand rows."""
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)",
                 "INSERT INTO public.t SELECT i, 'v' FROM generate_series(1, 1000) i")


@pytest.fixture
def proxy(database):
    made = FaultProxy(database.server.port)
    yield made
    made.close()


@pytest.fixture
def pipeline(database, tmp_path):
    """pipeline(*sections, **settings) makes one; every process it started is killed at the end."""
    made = []

    def make(*sections, folder="p", **settings):
        (tmp_path / folder).mkdir(exist_ok=True)
        at = settings.pop("database", database)
        made.append(Pipeline(tmp_path / folder, at, sections, **settings))
        return made[-1]

    yield make
    for each in made:
        each.kill()


# -- document targets --------------------------------------------------------------------------

@pytest.fixture(scope="session")
def nodes(ground):
    """nodes(which, *settings) starts one once per session."""
    running = {}

    def start(which="opensearch-2", *settings):
        key = (which, settings)
        if key not in running:
            try:
                running[key] = search.Node(which, f"{ground}/{which}-{len(running)}", *settings)
            except Unobtainable as why:
                pytest.skip(f"{which}: {why}")
        return running[key]

    yield start
    for node in running.values():
        node.stop()


@pytest.fixture(params=["opensearch-2", pytest.param("opensearch-3", marks=pytest.mark.long),
                        pytest.param("elasticsearch-7", marks=pytest.mark.long), pytest.param("elasticsearch-8", marks=pytest.mark.long),
                        pytest.param("elasticsearch-9", marks=pytest.mark.long)])
def node(request, nodes):
    made = nodes(request.param)
    made.empty()
    return made


@pytest.fixture
def searching(pipeline, node):
    """searching(*sections, **settings): a pipeline into the node."""

    def make(*sections, url=None, of_target="", **settings):
        target = f'[target]\nflavor = "{node.flavor}"\nurl = "{url or node.url}"\n{of_target}\n'
        return pipeline(*sections, target=target, **settings)

    return make
