// The only file that includes Boost.Beast: it takes longer to compile than all others here
// together.
#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "actors/http/client.hpp"
#include "actors/http/route.hpp"
#include "actors/http/server.hpp"
#include "actors/log.hpp"

namespace cdc::actors::http {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using beast::error_code;

constexpr auto http_1_1 = 11U;

// -- looking at the board
// ---------------------------------------------------------------------------

/// A few looks at the board, for what moved between them. Belongs to the server's thread.
class history {
public:
  explicit history(std::shared_ptr<const board> of) : of_(std::move(of)) {}

  void remember() {
    looks_.push_back(of_->view());
    if (looks_.size() > looks_max)
      looks_.pop_front();
  }

  [[nodiscard]] board_view now() const { return of_->view(); }
  [[nodiscard]] const board_view* oldest() const noexcept {
    return looks_.empty() ? nullptr : &looks_.front();
  }

private:
  static constexpr std::size_t looks_max = 2; // so rates are those of the last 2 to 4 seconds

  std::shared_ptr<const board> of_;
  std::deque<board_view> looks_;
};

/// One request's look: taken when first asked for, the same until the response is written.
class one_look final : public look {
public:
  explicit one_look(const history& from) : from_(from) {}

  const board_view& board() override {
    if (!board_)
      board_ = from_.now();
    return *board_;
  }
  const flow_view& flow() override {
    if (!flow_)
      flow_ = derive_flow(from_.oldest(), board());
    return *flow_;
  }

private:
  const history& from_;
  std::optional<board_view> board_;
  std::optional<flow_view> flow_;
};

// -- one connection
// ---------------------------------------------------------------------------------

using wire_response = beast::http::response<beast::http::string_body>;

wire_response to_wire(response answer) {
  wire_response out{static_cast<beast::http::status>(answer.status), http_1_1};
  using beast::http::field;
  out.set(field::server, "cdc-actors");
  out.set(field::content_type,
          beast::string_view{answer.content_type.data(), answer.content_type.size()});
  out.set(field::cache_control, "no-store");
  out.set("X-Content-Type-Options", "nosniff");
  out.set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; "
                                     "style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                                     "frame-ancestors 'none'");
  if (!answer.allow.empty())
    out.set(field::allow, beast::string_view{answer.allow.data(), answer.allow.size()});
  if (answer.wants_token)
    out.set(field::www_authenticate, "Bearer");
  out.keep_alive(false);
  out.body() = std::move(answer.body);
  out.prepare_payload();
  return out;
}

std::string_view view_of(beast::string_view text) noexcept {
  return {text.data(), text.size()};
}

/// Reads one request, writes one response, closes. Keeps itself alive by its pending operation; the
/// deadline of each operation is the whole operation's, so that a trickle gains nothing.
class connection : public std::enable_shared_from_this<connection> {
public:
  connection(tcp::socket socket, const server_options& options, const history& looks,
             sync_service* synced, actor_stats* self, std::function<void()> gone)
      : stream_(std::move(socket)), options_(options), looks_(looks), synced_(synced), self_(self),
        gone_(std::move(gone)) {
    parser_.header_limit(static_cast<std::uint32_t>(options.header_bytes_max));
  }
  ~connection() { gone_(); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  void start() {
    stream_.expires_after(options_.request_time);
    beast::http::async_read_header(
        stream_, buffer_, parser_,
        [self = shared_from_this()](error_code trouble, std::size_t) { self->on_header(trouble); });
  }

private:
  void on_header(error_code trouble) {
    if (!trouble && synced_)
      answer_later();
    else if (!trouble)
      write(answer());
    else if (trouble == beast::http::error::header_limit ||
             trouble == beast::http::error::buffer_overflow)
      write({.status = 431, .body = "the header is too long\n"});
    else if (trouble.category() == make_error_code(beast::http::error::bad_method).category() &&
             trouble != beast::http::error::end_of_stream &&
             trouble != beast::http::error::partial_message)
      write({.status = 400, .body = "this is not HTTP\n"});
    // Otherwise the client went away, or took too long: the connection ends with this object.
  }

  [[nodiscard]] request asked() const {
    const auto& header = parser_.get();
    const auto length = parser_.content_length();
    return {.method = view_of(header.method_string()),
            .target = view_of(header.target()),
            .authorization = view_of(header[beast::http::field::authorization]),
            .has_body = parser_.chunked() || (length && *length > 0)};
  }

  response answer() {
    std::optional<handler_scope> handling;
    if (self_)
      handling.emplace(*self_);
    one_look at{looks_};
    return respond(asked(), at, options_.token.reveal());
  }

  /// The service answers from a thread of its own, where this object must not end.
  void answer_later() {
    stream_.expires_never();
    synced_->respond(
        asked(), options_.token.reveal(), [self = shared_from_this()](response made) mutable {
          auto& at = self->stream_;
          asio::post(at.get_executor(), [self = std::move(self), made = std::move(made)]() mutable {
            self->write(std::move(made));
          });
        });
  }

  void write(response made) {
    out_ = to_wire(std::move(made));
    stream_.expires_after(options_.response_time);
    beast::http::async_write(stream_, out_,
                             [self = shared_from_this()](error_code trouble, std::size_t) {
                               self->on_written(trouble);
                             });
  }

  /// Closing with unread bytes would reset the connection and take the response with it: what the
  /// client still sends is read away, for a little while.
  void on_written(error_code trouble) {
    if (trouble)
      return;
    stream_.socket().shutdown(tcp::socket::shutdown_send, trouble);
    stream_.expires_after(std::min(options_.request_time, std::chrono::milliseconds{1000}));
    drain();
  }

  void drain() {
    stream_.async_read_some(asio::buffer(rest_),
                            [self = shared_from_this()](error_code trouble, std::size_t size) {
                              self->drained_ += size;
                              if (!trouble && self->drained_ < drained_max)
                                self->drain();
                            });
  }

  static constexpr std::size_t drained_max = 64 * 1024;

  beast::tcp_stream stream_;
  const server_options& options_;
  const history& looks_;
  sync_service* synced_;
  actor_stats* self_;
  std::function<void()> gone_;
  beast::flat_buffer buffer_{64 * 1024};
  beast::http::request_parser<beast::http::empty_body> parser_;
  wire_response out_;
  std::array<char, 4096> rest_{};
  std::size_t drained_ = 0;
};

} // namespace

// -- the server
// -------------------------------------------------------------------------------------

class server::state {
public:
  state(server_options options, std::shared_ptr<const board> of,
        std::unique_ptr<sync_service> synced, std::shared_ptr<actor_stats> self)
      : options_(std::move(options)), looks_(std::move(of)), synced_(std::move(synced)),
        self_(std::move(self)) {
    listen();
    look_again();
    thread_ = std::thread{[this] { run(); }};
  }

  ~state() {
    context_.stop();
    thread_.join();
    is_ending_ = true; // the connections that the context still holds end with it
    synced_.reset();   // … and so do those that wait for it
  }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

private:
  /// A handler that throws (out of memory) loses its connection, not the listener.
  void run() {
    while (!context_.stopped()) {
      try {
        context_.run();
      } catch (const std::exception& thrown) {
        log::error("http.request_lost", "a request was dropped: {}", thrown.what());
      }
    }
  }

  void listen() {
    error_code trouble;
    const auto where = resolve(trouble);
    if (!trouble)
      trouble = open(where);
    if (trouble) {
      show("waits for its port");
      if (!std::exchange(is_refused_, true))
        log::warn("http.not_listening",
                  "{}:{} cannot be listened on: {}; replication goes on, and it is tried again",
                  options_.host, options_.port, trouble.message());
      bind_timer_.expires_after(options_.bind_again);
      bind_timer_.async_wait([this](error_code stopped) {
        if (!stopped)
          listen();
      });
      return;
    }
    show("listens");
    log::info("http.listening", "http://{}{}{}:{}/", where.address().is_v6() ? "[" : "",
              where.address().to_string(), where.address().is_v6() ? "]" : "", port_.load());
    if (!where.address().is_loopback() && options_.token.empty())
      log::warn("http.open_to_all", "{} is reachable from other machines and no token is set",
                where.address().to_string());
    accept();
  }

  void show(static_text doing) noexcept {
    if (!self_)
      return;
    self_->running();
    self_->doing(doing);
  }

  tcp::endpoint resolve(error_code& trouble) {
    const auto numeric = asio::ip::make_address(options_.host, trouble);
    if (!trouble)
      return {numeric, options_.port};
    tcp::resolver resolver{context_};
    const auto found = resolver.resolve(options_.host, std::to_string(options_.port), trouble);
    return trouble || found.empty() ? tcp::endpoint{} : found.begin()->endpoint();
  }

  error_code open(const tcp::endpoint& where) {
    error_code trouble;
    const auto failed = [&] { return static_cast<bool>(trouble); };
    acceptor_.close(trouble);
    acceptor_.open(where.protocol(), trouble);
    if (!failed())
      acceptor_.set_option(tcp::acceptor::reuse_address{true}, trouble);
    if (!failed())
      acceptor_.bind(where, trouble);
    if (!failed())
      acceptor_.listen(tcp::acceptor::max_listen_connections, trouble);
    if (!failed())
      port_ = acceptor_.local_endpoint(trouble).port();
    return trouble;
  }

  void accept() {
    is_accepting_ = true;
    acceptor_.async_accept([this](error_code trouble, tcp::socket socket) {
      is_accepting_ = false;
      if (trouble == asio::error::operation_aborted)
        return;
      if (trouble) // out of descriptors, mostly: give the others time to end
        return accept_later();
      ++connections_;
      std::make_shared<connection>(std::move(socket), options_, looks_, synced_.get(), self_.get(),
                                   [this] { on_gone(); })
          ->start();
      if (connections_ < options_.connections_max)
        accept();
    });
  }

  void accept_later() {
    bind_timer_.expires_after(std::chrono::milliseconds{100});
    bind_timer_.async_wait([this](error_code stopped) {
      if (!stopped && !is_accepting_)
        accept();
    });
  }

  void on_gone() {
    --connections_;
    if (!is_ending_ && !is_accepting_)
      accept();
  }

  void look_again() {
    if (synced_)
      return;
    looks_.remember();
    look_timer_.expires_after(std::chrono::seconds{2});
    look_timer_.async_wait([this](error_code stopped) {
      if (!stopped)
        look_again();
    });
  }

  const server_options options_;
  history looks_;
  std::unique_ptr<sync_service> synced_; ///< Null: the routes of the metrics port.
  const std::shared_ptr<actor_stats> self_;
  std::size_t connections_ = 0;
  bool is_accepting_ = false;
  bool is_refused_ = false;
  std::atomic<bool> is_ending_{false};
  std::atomic<std::uint16_t> port_{0};
  // Last, so that what it still holds ends before what that refers to.
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer bind_timer_{context_};
  asio::steady_timer look_timer_{context_};
  std::thread thread_;
};

server::server(server_options options, std::shared_ptr<const board> of,
               std::shared_ptr<actor_stats> self)
    : state_(std::make_unique<state>(std::move(options), std::move(of), nullptr, std::move(self))) {
}
server::server(server_options options, const std::shared_ptr<const board>& of,
               std::vector<sync_door> doors, std::shared_ptr<actor_stats> self)
    : state_(std::make_unique<state>(std::move(options), of,
                                     std::make_unique<sync_service>(of, std::move(doors)),
                                     std::move(self))) {}
server::~server() = default;

std::uint16_t server::port() const noexcept {
  return state_->port();
}

server_options options_from(const config::listener_config& config) {
  return {
      .host = config.host, .port = config.port, .token = config.token.value_or(config::secret{})};
}

// -- the client
// -------------------------------------------------------------------------------------

namespace {

/// Drives one request on a context of its own; every step shares one deadline.
class exchange {
public:
  exchange(const address& to, std::string_view target, const config::secret& token)
      : to_(to), request_(beast::http::verb::get, beast::string_view{target.data(), target.size()},
                          http_1_1) {
    request_.set(beast::http::field::host, to.host);
    request_.set(beast::http::field::user_agent, "cdc-actors");
    if (!token.empty())
      request_.set(beast::http::field::authorization, "Bearer " + token.reveal());
    parser_.body_limit(64 * 1024 * 1024);
  }

  result<fetched> run(std::chrono::milliseconds patience) {
    error_code trouble;
    const auto found = tcp::resolver{context_}.resolve(to_.host, std::to_string(to_.port), trouble);
    if (trouble)
      return failed(trouble);
    stream_.expires_after(patience);
    stream_.async_connect(
        found, [&](error_code problem, const tcp::endpoint&) { next(problem, [&] { write(); }); });
    context_.run();
    if (trouble_)
      return failed(trouble_);
    return fetched{parser_.get().result_int(), std::move(parser_.get().body())};
  }

private:
  template <class Step>
  void next(error_code problem, Step step) {
    trouble_ = problem;
    if (!problem)
      step();
  }

  void write() {
    beast::http::async_write(stream_, request_, [this](error_code problem, std::size_t) {
      next(problem, [this] { read(); });
    });
  }

  void read() {
    beast::http::async_read(stream_, buffer_, parser_,
                            [this](error_code problem, std::size_t) { next(problem, [] {}); });
  }

  [[nodiscard]] tl::unexpected<error> failed(error_code trouble) const {
    return fail(errc::target_unavailable, "http://{}:{} does not answer: {}", to_.host, to_.port,
                trouble.message());
  }

  const address& to_;
  asio::io_context context_{1};
  beast::tcp_stream stream_{context_};
  beast::flat_buffer buffer_;
  beast::http::request<beast::http::empty_body> request_;
  beast::http::response_parser<beast::http::string_body> parser_;
  error_code trouble_;
};

} // namespace

result<fetched> fetch(const address& from, std::string_view target, const config::secret& token,
                      std::chrono::milliseconds patience) {
  return exchange{from, target, token}.run(patience);
}

} // namespace cdc::actors::http
