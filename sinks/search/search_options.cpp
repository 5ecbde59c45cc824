#include "sinks/search/search_options.hpp"

#include <openssl/evp.h>

namespace cdc::sinks::search {

namespace {

std::string base64(const std::string& text) {
  std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
  const auto size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

config::secret authorization_of(const config::target_config& target) {
  if (!target.api_key.empty())
    return config::secret{"ApiKey " + target.api_key.reveal()};
  if (!target.username.empty())
    return config::secret{"Basic " + base64(target.username + ":" + target.password.reveal())};
  return {};
}

} // namespace

search_options options_of(const config::target_config& target,
                          const config::engine_config& engine) {
  search_options out;
  out.over.servers = target.servers;
  out.over.authorization = authorization_of(target);
  out.over.verify = target.tls_verify;
  out.over.ca_file = target.sslrootcert;
  out.over.gzip = target.gzip;
  out.is_elasticsearch = target.what == config::target_config::flavor::elasticsearch;
  out.require_alias = target.require_alias;
  out.quarantines = engine.quarantines;
  out.rejects_max = engine.max_rejects;
  out.write_concurrency = engine.write_concurrency;
  out.items_max = engine.batch_size;
  out.bytes_max = engine.batch_max_bytes;
  return out;
}

} // namespace cdc::sinks::search
