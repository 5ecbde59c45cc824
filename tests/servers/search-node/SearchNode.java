import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.http.HttpServerTransport;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.Plugin;

/** SearchNode PORT FOLDER [setting=value ...]: one OpenSearch node on loopback; prints "ready PORT". */
public class SearchNode extends Node {
    static final String[] PLUGINS = {
        "org.opensearch.transport.Netty4Plugin",
        "org.opensearch.index.reindex.ReindexPlugin",
        "org.opensearch.index.mapper.MapperExtrasPlugin",
        "org.opensearch.ingest.common.IngestCommonPlugin",
        "org.opensearch.painless.PainlessPlugin",
        "org.opensearch.analysis.common.CommonAnalysisPlugin",
        "org.opensearch.security.OpenSearchSecurityPlugin", // only where it is on the class path
    };

    SearchNode(Environment environment, Collection<Class<? extends Plugin>> plugins) {
        super(environment, plugins, false);
    }

    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[1]).toAbsolutePath();
        Files.createDirectories(home);
        Settings.Builder settings = Settings.builder()
            .put("path.home", home.toString())
            .put("cluster.name", "test")
            .put("node.name", "n0")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", arguments[0])
            .put("transport.port", "0")
            .put("cluster.routing.allocation.disk.threshold_enabled", false);
        for (int i = 2; i < arguments.length; i++) {
            int equals = arguments[i].indexOf('=');
            settings.put(arguments[i].substring(0, equals), arguments[i].substring(equals + 1));
        }
        List<Class<? extends Plugin>> plugins = new ArrayList<>();
        for (String name : PLUGINS) {
            try {
                plugins.add(Class.forName(name).asSubclass(Plugin.class));
            } catch (ClassNotFoundException absent) {
                // It is optional.
            }
        }
        Node node = new SearchNode(
            InternalSettingsPreparer.prepareEnvironment(settings.build(), Map.of(), null, () -> "n0"), plugins);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                node.close();
                node.awaitClose(20, TimeUnit.SECONDS);
            } catch (Exception e) {
                e.printStackTrace();
            }
        }));
        node.start();
        node.client().admin().cluster().prepareHealth().setWaitForYellowStatus().get("60s");
        System.out.println("ready " + node.injector().getInstance(HttpServerTransport.class)
            .boundAddress().publishAddress().getPort());
        Thread.currentThread().join();
    }
}
