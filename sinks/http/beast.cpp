// The only file of this layer that includes Boost: it takes longer to compile than all others here
// together.
#include <algorithm>
#include <deque>
#include <list>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/span_body.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include "sinks/http/client.hpp"
#include "sinks/http/gzip.hpp"

namespace cdc::sinks::http {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using beast::error_code;
using tls_stream = beast::ssl_stream<beast::tcp_stream>;

constexpr auto http_1_1 = 11U;

beast::string_view view_of(std::string_view text) noexcept {
  return {text.data(), text.size()};
}

/// What is asked, and who wants to know.
struct errand {
  request what;
  client::answer done;
};

/// What the connections of one client share. Used on the client's thread alone.
struct shared_parts {
  explicit shared_parts(client_options with)
      : options(std::move(with)), tls(asio::ssl::context::tls_client) {
    tls.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                    asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                    asio::ssl::context::no_tlsv1_1);
    tls.set_verify_mode(options.verify ? asio::ssl::verify_peer : asio::ssl::verify_none);
    error_code trouble;
    if (options.ca_file.empty())
      tls.set_default_verify_paths(trouble);
    else
      tls.load_verify_file(options.ca_file, trouble);
    if (trouble)
      broken = error{errc::target_misconfigured,
                     options.ca_file.empty()
                         ? "the system's certificates cannot be read: " + trouble.message()
                         : options.ca_file + " holds no certificates: " + trouble.message()};
  }

  client_options options;
  asio::ssl::context tls;
  std::optional<error> broken; ///< Nothing can be sent at all.
  std::size_t at = 0;          ///< The server that answered last.
  gzip_packer packer;
  bool is_cancelled = false;
};

/// One keep-alive connection, and the one request that is on it.
class connection {
public:
  connection(asio::io_context& io, shared_parts& with, std::function<void()> idle)
      : io_(io), with_(with), resolver_(io), idle_(std::move(idle)) {}

  [[nodiscard]] bool is_busy() const noexcept { return errand_.has_value(); }

  void start(errand next) {
    errand_ = std::move(next);
    tries_left_ = with_.options.servers.size();
    is_second_try_ = false;
    is_kept_ = is_open_;
    if (is_open_)
      write();
    else
      resolve();
  }

  void cancel() {
    resolver_.cancel();
    close();
  }

private:
  [[nodiscard]] const config::server_url& to() const { return with_.options.servers[with_.at]; }

  beast::tcp_stream& lowest() { return secure_ ? beast::get_lowest_layer(*secure_) : *plain_; }

  /// Runs `call` with the stream there is.
  template <class Call>
  void on_stream(Call call) {
    if (secure_)
      call(*secure_);
    else
      call(*plain_);
  }

  // -- opening ------------------------------------------------------------------------------------

  void resolve() {
    plain_.reset();
    secure_.reset();
    buffer_.clear();
    resolver_.async_resolve(to().host, std::to_string(to().port),
                            [this](error_code trouble, const tcp::resolver::results_type& found) {
                              trouble || with_.is_cancelled ? fail_over("cannot be found", trouble)
                                                            : connect(found);
                            });
  }

  void connect(const tcp::resolver::results_type& found) {
    if (to().is_tls)
      secure_.emplace(io_, with_.tls);
    else
      plain_.emplace(io_);
    lowest().expires_after(with_.options.connect_time);
    lowest().async_connect(found, [this](error_code trouble, const tcp::endpoint&) {
      if (trouble || with_.is_cancelled)
        return fail_over("cannot be reached", trouble);
      error_code ignored;
      lowest().socket().set_option(tcp::no_delay{true}, ignored);
      lowest().socket().set_option(asio::socket_base::keep_alive{true}, ignored);
      to().is_tls ? shake_hands() : opened();
    });
  }

  void shake_hands() {
    SSL_set_tlsext_host_name(secure_->native_handle(), to().host.c_str());
    if (with_.options.verify)
      secure_->set_verify_callback(asio::ssl::host_name_verification{to().host});
    lowest().expires_after(with_.options.connect_time);
    secure_->async_handshake(asio::ssl::stream_base::client, [this](error_code trouble) {
      if (trouble && trouble.category() == asio::error::get_ssl_category())
        return finish(
            fail(errc::target_misconfigured,
                 "{}: the TLS handshake failed: {}; name its authority with sslrootcert, or "
                 "turn tls_verify off",
                 to_string(to()), trouble.message()));
      trouble || with_.is_cancelled ? fail_over("breaks off the TLS handshake", trouble) : opened();
    });
  }

  void opened() {
    is_open_ = true;
    write();
  }

  /// The next server, once around.
  void fail_over(std::string_view what, error_code why) {
    close();
    if (with_.is_cancelled)
      return finish(cancelled());
    const auto failed = to_string(to());
    with_.at = (with_.at + 1) % with_.options.servers.size();
    if (--tries_left_ > 0)
      return resolve();
    finish(fail(errc::target_unavailable, "{} {}: {}", failed, what, why.message()));
  }

  // -- one exchange -------------------------------------------------------------------------------

  void write() {
    const auto& what = errand_->what;
    using beast::http::field;
    out_.emplace(beast::http::string_to_verb(view_of(what.method)), view_of(what.target), http_1_1);
    out_->set(field::host, fmt::format("{}:{}", to().host, to().port));
    out_->set(field::user_agent, "cdc-actors");
    if (!with_.options.authorization.empty())
      out_->set(field::authorization, with_.options.authorization.reveal());
    if (!what.body.empty())
      out_->set(field::content_type, view_of(what.content_type));
    auto body = what.body;
    if (with_.options.gzip && body.size() >= gzip_bytes_min && with_.packer.pack(body, packed_)) {
      out_->set(field::content_encoding, "gzip");
      body = packed_;
    }
    out_->body() = beast::span<const char>{body.data(), body.size()};
    out_->prepare_payload();
    lowest().expires_after(with_.options.answer_time);
    on_stream([this](auto& stream) {
      beast::http::async_write(stream, *out_, [this](error_code trouble, std::size_t) {
        trouble || with_.is_cancelled ? lose(trouble) : read();
      });
    });
  }

  void read() {
    in_.emplace();
    in_->body_limit(with_.options.answer_bytes_max);
    if (errand_->what.method == "HEAD")
      in_->skip(true);
    on_stream([this](auto& stream) {
      beast::http::async_read(stream, buffer_, *in_, [this](error_code trouble, std::size_t) {
        trouble || with_.is_cancelled ? lose(trouble) : answered();
      });
    });
  }

  void answered() {
    lowest().expires_never();
    auto& message = in_->get();
    response out;
    out.status = message.result_int();
    out.is_elasticsearch = message.find("X-elastic-product") != message.end();
    out.body = std::move(message.body());
    if (!message.keep_alive())
      close();
    finish(std::move(out));
  }

  /// A connection that was kept may have been closed at the other end meanwhile.
  void lose(error_code why) {
    const auto is_late = why == beast::error::timeout;
    close();
    if (with_.is_cancelled)
      return finish(cancelled());
    if (is_kept_ && !is_late && !std::exchange(is_second_try_, true)) {
      is_kept_ = false;
      return resolve();
    }
    finish(fail(errc::target_unavailable, "{} {}: {}", to_string(to()),
                is_late ? "did not answer in time" : "broke the connection", why.message()));
  }

  void finish(result<response> out) {
    auto done = std::move(errand_->done);
    errand_.reset();
    out_.reset();
    in_.reset();
    done(std::move(out));
    idle_();
  }

  void close() {
    is_open_ = false;
    if (!plain_ && !secure_)
      return;
    error_code ignored;
    lowest().socket().shutdown(tcp::socket::shutdown_both, ignored);
    lowest().close();
  }

  static result<response> cancelled() {
    return fail(errc::cancelled, "the target was told to stop");
  }

  asio::io_context& io_;
  shared_parts& with_;
  tcp::resolver resolver_;
  std::function<void()> idle_;
  std::optional<beast::tcp_stream> plain_;
  std::optional<tls_stream> secure_;
  beast::flat_buffer buffer_;
  std::string packed_; ///< The body, compressed.
  std::optional<beast::http::request<beast::http::span_body<const char>>> out_;
  std::optional<beast::http::response_parser<beast::http::string_body>> in_;
  std::optional<errand> errand_;
  std::size_t tries_left_ = 0;
  bool is_open_ = false;
  bool is_kept_ = false; ///< This errand began on a connection that was open.
  bool is_second_try_ = false;
};

class beast_client final : public client {
public:
  explicit beast_client(client_options options)
      : with_(std::move(options)), work_(asio::make_work_guard(io_)) {
    for (std::size_t i = 0; i < with_.options.connections; ++i)
      connections_.push_back(std::make_unique<connection>(io_, with_, [this] { feed(); }));
    thread_ = std::thread([this] { io_.run(); });
  }

  ~beast_client() override {
    cancel();
    work_.reset();
    thread_.join();
  }

  void run(std::function<void()> work) override { asio::post(io_, std::move(work)); }

  void after(std::chrono::milliseconds wait, std::function<void()> work) override {
    if (with_.is_cancelled)
      return run(std::move(work));
    auto timer = timers_.emplace(timers_.end(), io_, wait);
    timer->async_wait([this, timer, work = std::move(work)](error_code) {
      timers_.erase(timer);
      work();
    });
  }

  void send(request what, answer done) override {
    waiting_.push_back({std::move(what), std::move(done)});
    // Never from inside: who sends in a row must not find itself called.
    run([this] { feed(); });
  }

  void cancel() noexcept override {
    asio::post(io_, [this] {
      with_.is_cancelled = true;
      for (auto& each : timers_)
        each.cancel();
      for (const auto& each : connections_)
        each->cancel();
      feed();
    });
  }

private:
  void feed() {
    while (!waiting_.empty()) {
      if (with_.is_cancelled || with_.broken) {
        auto next = std::move(waiting_.front());
        waiting_.pop_front();
        next.done(with_.is_cancelled
                      ? result<response>(fail(errc::cancelled, "the target was told to stop"))
                      : result<response>(tl::unexpected(*with_.broken)));
        continue;
      }
      const auto free = std::ranges::find_if(connections_, [](auto& it) { return !it->is_busy(); });
      if (free == connections_.end())
        return;
      auto next = std::move(waiting_.front());
      waiting_.pop_front();
      (*free)->start(std::move(next));
    }
  }

  asio::io_context io_{1};
  shared_parts with_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::vector<std::unique_ptr<connection>> connections_;
  std::deque<errand> waiting_;
  std::list<asio::steady_timer> timers_;
  std::thread thread_;
};

} // namespace

std::unique_ptr<client> make_client(client_options options) {
  return std::make_unique<beast_client>(std::move(options));
}

} // namespace cdc::sinks::http
