#include "messages/wire.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace cdc::wire {

namespace {

static_assert(std::endian::native == std::endian::little, "cells and numbers travel as they lie");
static_assert(sizeof(cell) == 8 && std::is_trivially_copyable_v<cell>);

constexpr std::uint16_t version = 2;
constexpr std::uint32_t block_magic = 0x42434443;      // "CDCB"
constexpr std::uint32_t checkpoint_magic = 0x50434443; // "CDCP"
constexpr std::uint32_t credit_magic = 0x57434443;     // "CDCW"

// A block is a header and five sections in this order; only relations vary in size.
constexpr std::size_t header_size = 4 + 2 + 2 + 6 * 4;
constexpr std::size_t transaction_size = 8 + 8 + 8 + 8;
constexpr std::size_t event_size = 1 + 1 + 2 + 4;

struct sizes {
  std::uint32_t relation_bytes = 0;
  std::uint32_t relations = 0;
  std::uint32_t transactions = 0;
  std::uint32_t events = 0;
  std::uint32_t cells = 0;
  std::uint32_t arena = 0;

  [[nodiscard]] std::uint64_t total() const noexcept {
    return std::uint64_t{header_size} + relation_bytes +
           std::uint64_t{transactions} * transaction_size + std::uint64_t{events} * event_size +
           std::uint64_t{cells} * sizeof(cell) + arena;
  }
};

// -- writing ------------------------------------------------------------------------------------

class writer {
public:
  explicit writer(std::vector<std::byte>& out) : out_(out) { out.clear(); }

  template <class T>
  void put(T value) {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    put_bytes(&value, sizeof value);
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    put_bytes(text.data(), text.size());
  }
  void put_bytes(const void* from, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(from);
    out_.insert(out_.end(), bytes, bytes + size);
  }
  void header(std::uint32_t magic) {
    put(magic);
    put(version);
    put(std::uint16_t{0}); // flags, none yet: a reader refuses those it does not know
  }
  /// Writes over a number that was not known when its place was passed.
  void put_at(std::size_t place, std::uint32_t value) {
    std::memcpy(out_.data() + place, &value, sizeof value);
  }
  [[nodiscard]] std::size_t size() const noexcept { return out_.size(); }

private:
  std::vector<std::byte>& out_;
};

enum column_flag : std::uint8_t {
  is_unsigned = 1,
  is_key = 2,
  is_identity_key = 4,
  is_generated = 8,
  is_identity = 16,
  all_flags = 31,
};

std::uint8_t flags_of(const column& from) {
  return static_cast<std::uint8_t>(
      (from.is_unsigned ? is_unsigned : 0) | (from.is_key ? is_key : 0) |
      (from.is_identity_key ? is_identity_key : 0) | (from.is_generated ? is_generated : 0) |
      (from.is_identity ? is_identity : 0));
}

void put_column(const column& from, writer& out) {
  out.put_text(from.name);
  out.put(from.attribute);
  out.put(from.type_oid);
  out.put(from.type_modifier);
  out.put(from.what);
  out.put(from.element);
  out.put(from.delimiter);
  out.put(flags_of(from));
  out.put_text(from.type_name);
}

// A shape goes whole and behind its length, so that a receiver that knows it skips it.
void put_relation(const relation& from, writer& out) {
  const auto place = out.size();
  out.put(std::uint32_t{0});
  out.put_text(from.table.schema);
  out.put_text(from.table.name);
  out.put(from.oid);
  out.put(from.generation);
  out.put(from.identity);
  out.put(static_cast<std::uint16_t>(from.columns.size()));
  for (const auto& each : from.columns)
    put_column(each, out);
  out.put(static_cast<std::uint16_t>(from.key.size()));
  for (const auto each : from.key)
    out.put(each);
  out.put_at(place, static_cast<std::uint32_t>(out.size() - place - sizeof(std::uint32_t)));
}

// -- reading ------------------------------------------------------------------------------------

/// Reads on after a mistake, with zeros; the caller asks once, at the end.
class reader {
public:
  explicit reader(std::span<const std::byte> from) : rest_(from) {}

  template <class T>
  T take() {
    T value{};
    if (const auto bytes = take_bytes(sizeof value); !bytes.empty())
      std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::span<const std::byte> take_bytes(std::size_t size) {
    if (size > rest_.size()) {
      good_ = false;
      rest_ = {};
      return {};
    }
    const auto bytes = rest_.first(size);
    rest_ = rest_.subspan(size);
    return bytes;
  }
  std::string_view take_text() {
    const auto bytes = take_bytes(take<std::uint32_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  bool header(std::uint32_t magic) {
    const auto found = take<std::uint32_t>();
    const auto spoken = take<std::uint16_t>();
    const auto flags = take<std::uint16_t>();
    return good_ && found == magic && spoken == version && flags == 0;
  }
  [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }
  [[nodiscard]] bool good() const noexcept { return good_; }
  [[nodiscard]] bool finished() const noexcept { return good_ && rest_.empty(); }

private:
  std::span<const std::byte> rest_;
  bool good_ = true;
};

auto refuse(std::string_view what, std::size_t size) {
  return fail(errc::malformed_message, "a message of {} bytes: {}", size, what);
}

bool is_kind(kind what) {
  return what <= kind::other;
}

bool is_identity_kind(replica_identity what) {
  return what == replica_identity::primary_key || what == replica_identity::nothing ||
         what == replica_identity::full || what == replica_identity::index;
}

bool take_column(reader& from, column& into) {
  into.name = from.take_text();
  into.attribute = from.take<std::int16_t>();
  into.type_oid = from.take<std::uint32_t>();
  into.type_modifier = from.take<std::int32_t>();
  into.what = from.take<kind>();
  into.element = from.take<kind>();
  into.delimiter = from.take<char>();
  const auto flags = from.take<std::uint8_t>();
  into.is_unsigned = flags & is_unsigned;
  into.is_key = flags & is_key;
  into.is_identity_key = flags & is_identity_key;
  into.is_generated = flags & is_generated;
  into.is_identity = flags & is_identity;
  into.type_name = from.take_text();
  return from.good() && is_kind(into.what) && is_kind(into.element) && flags <= all_flags;
}

bool take_relation(reader& from, relation& into) {
  into.table.schema = from.take_text();
  into.table.name = from.take_text();
  into.oid = from.take<std::uint32_t>();
  into.generation = from.take<std::uint32_t>();
  into.identity = from.take<replica_identity>();
  // Grown one by one: a count alone makes nobody allocate.
  for (auto columns = from.take<std::uint16_t>(); columns > 0; --columns) {
    if (!take_column(from, into.columns.emplace_back()))
      return false;
  }
  for (auto keys = from.take<std::uint16_t>(); keys > 0 && from.good(); --keys) {
    into.key.push_back(from.take<std::uint16_t>());
    if (into.key.back() >= into.columns.size())
      return false;
  }
  return from.finished() && is_identity_kind(into.identity);
}

sizes take_sizes(reader& from) {
  sizes out;
  out.relation_bytes = from.take<std::uint32_t>();
  out.relations = from.take<std::uint32_t>();
  out.transactions = from.take<std::uint32_t>();
  out.events = from.take<std::uint32_t>();
  out.cells = from.take<std::uint32_t>();
  out.arena = from.take<std::uint32_t>();
  return out;
}

bool take_relations(reader from, std::uint32_t count, known_relations& shapes,
                    std::vector<relation_ptr>& into) {
  for (; count > 0; --count) {
    auto shape = shapes.find_or_parse(from.take_text());
    if (!from.good() || !shape)
      return false;
    into.push_back(std::move(*shape));
  }
  return from.finished();
}

transaction take_transaction(reader& from) {
  transaction out;
  out.final.token = from.take<std::uint64_t>();
  out.end.token = from.take<std::uint64_t>();
  out.id = from.take<transaction_id>();
  out.commit_time = from.take<std::int64_t>();
  return out;
}

// The first two bytes of an event: operation, and before-image with the partial bit above it.
constexpr std::uint8_t partial_bit = 0x80;

bool take_event(reader& from, event& into) {
  const auto what = from.take<std::uint8_t>();
  const auto images = from.take<std::uint8_t>();
  const auto before = static_cast<std::uint8_t>(images & ~partial_bit);
  into.what = static_cast<operation>(what);
  into.before = static_cast<before_image>(before);
  into.is_partial = images & partial_bit;
  into.relation = from.take<std::uint16_t>();
  into.first = from.take<std::uint32_t>();
  return what <= static_cast<std::uint8_t>(operation::row) &&
         before <= static_cast<std::uint8_t>(before_image::full);
}

// -- what a block must be before anybody follows an index in it ---------------------------------

bool cells_are_inside(const block& made) {
  return std::ranges::all_of(made.cells, [&](cell at) {
    return !at.has_value() || std::uint64_t{at.offset} + at.size <= made.arena_used;
  });
}

bool images_are_inside(const block& made, const event& at) {
  if (at.relation >= made.relations.size())
    return false;
  const auto columns = made.relations[at.relation]->columns.size();
  const auto before = at.what == operation::update && at.before != before_image::none ? columns : 0;
  if (std::uint64_t{at.first} + before + columns > made.cells.size())
    return false;
  const auto after = std::span{made.cells}.subspan(at.first + before, columns);
  const auto lacks_some =
      at.what != operation::remove && std::ranges::any_of(after, &cell::is_absent);
  return at.is_partial == lacks_some;
}

bool is_inside(const block& made, const event& at) {
  switch (at.what) {
    case operation::begin:
    case operation::commit:
    case operation::advance:
      return at.first < made.transactions.size();
    case operation::truncate:
      return at.relation < made.relations.size() && at.first <= made.cells.size();
    case operation::insert:
    case operation::update:
    case operation::remove:
    case operation::row:
      return images_are_inside(made, at);
  }
  return false;
}

bool is_consistent(const block& made) {
  return cells_are_inside(made) &&
         std::ranges::all_of(made.events, [&](const event& at) { return is_inside(made, at); });
}

bool take_sections(reader& from, const sizes& has, known_relations& shapes, block& into) {
  if (!take_relations(reader{from.take_bytes(has.relation_bytes)}, has.relations, shapes,
                      into.relations))
    return false;
  for (auto left = has.transactions; left > 0; --left)
    into.transactions.push_back(take_transaction(from));
  for (auto left = has.events; left > 0; --left) {
    if (!take_event(from, into.events.emplace_back()))
      return false;
  }
  into.cells.resize(has.cells);
  const auto cells = from.take_bytes(has.cells * sizeof(cell));
  const auto arena = from.take_bytes(has.arena);
  if (!from.finished())
    return false;
  if (!cells.empty())
    std::memcpy(into.cells.data(), cells.data(), cells.size());
  if (into.arena.size() < has.arena)
    into.arena.resize(has.arena);
  if (!arena.empty())
    std::memcpy(into.arena.data(), arena.data(), arena.size());
  into.arena_used = has.arena;
  return true;
}

} // namespace

result<relation_ptr> known_relations::find_or_parse(std::string_view form) {
  if (const auto found = shapes_.find(form); found != shapes_.end())
    return found->second;
  relation made;
  reader from{std::as_bytes(std::span{form})};
  if (!take_relation(from, made))
    return refuse("not a relation", form.size());
  if (shapes_.size() >= relations_max_)
    shapes_.clear();
  return shapes_.emplace(form, std::make_shared<const relation>(std::move(made))).first->second;
}

void encode(const block& from, std::vector<std::byte>& out) {
  writer to{out};
  sizes has{.relations = static_cast<std::uint32_t>(from.relations.size()),
            .transactions = static_cast<std::uint32_t>(from.transactions.size()),
            .events = static_cast<std::uint32_t>(from.events.size()),
            .cells = static_cast<std::uint32_t>(from.cells.size()),
            .arena = static_cast<std::uint32_t>(from.arena_used)};
  out.reserve(has.total() + from.relations.size() * 4096);
  to.header(block_magic);
  const auto place = to.size();
  for (const auto number :
       {has.relation_bytes, has.relations, has.transactions, has.events, has.cells, has.arena})
    to.put(number);
  for (const auto& shape : from.relations)
    put_relation(*shape, to);
  to.put_at(place, static_cast<std::uint32_t>(to.size() - header_size));
  for (const auto& each : from.transactions) {
    to.put(each.final.token);
    to.put(each.end.token);
    to.put(each.id);
    to.put(each.commit_time);
  }
  for (const auto& each : from.events) {
    to.put(each.what);
    to.put(static_cast<std::uint8_t>(static_cast<std::uint8_t>(each.before) |
                                     (each.is_partial ? partial_bit : 0)));
    to.put(each.relation);
    to.put(each.first);
  }
  to.put_bytes(from.cells.data(), from.cells.size() * sizeof(cell));
  to.put_bytes(from.arena.data(), from.arena_used);
}

result<block_ptr> decode_block(std::span<const std::byte> message, block_pool& pool,
                               known_relations& shapes) {
  if (message.size() > message_max)
    return refuse("too long", message.size());
  reader from{message};
  if (!from.header(block_magic))
    return refuse("not a block of a version known here", message.size());
  const auto has = take_sizes(from);
  if (!from.good() || has.total() != message.size() || has.relations > has.relation_bytes ||
      has.relations > std::numeric_limits<std::uint16_t>::max() + std::size_t{1})
    return refuse("its sizes do not add up", message.size());
  auto made = pool.acquire();
  if (!take_sections(from, has, shapes, *made))
    return refuse("a section of it is malformed", message.size());
  if (!is_consistent(*made))
    return refuse("an index in it points outside", message.size());
  return block_ptr{std::move(made)};
}

void encode(const checkpoint& from, std::vector<std::byte>& out) {
  writer to{out};
  to.header(checkpoint_magic);
  to.put(from.resume.token);
  to.put(from.version.token);
}

result<checkpoint> decode_checkpoint(std::span<const std::byte> message) {
  reader from{message};
  const auto known = from.header(checkpoint_magic);
  checkpoint out;
  out.resume.token = from.take<std::uint64_t>();
  out.version.token = from.take<std::uint64_t>();
  if (!known || !from.finished())
    return refuse("not a checkpoint", message.size());
  return out;
}

void encode(const credit& from, std::vector<std::byte>& out) {
  writer to{out};
  to.header(credit_magic);
  to.put(from.blocks);
  to.put(from.bytes);
}

result<credit> decode_credit(std::span<const std::byte> message) {
  reader from{message};
  const auto known = from.header(credit_magic);
  credit out;
  out.blocks = from.take<std::uint32_t>();
  out.bytes = from.take<std::uint64_t>();
  if (!known || !from.finished())
    return refuse("not a credit", message.size());
  return out;
}

} // namespace cdc::wire
