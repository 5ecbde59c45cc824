// No answer of a server, however broken, is read beyond its end or taken for another one.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sinks/search/answers.hpp"
#include "sinks/search/index_guard.hpp"
#include "sinks/search/index_shape.hpp"
#include "sinks/search/quarantine.hpp"
#include "sinks/search/relaxed_indices.hpp"
#include "sinks/search/state_document.hpp"

namespace search = cdc::sinks::search;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  for (std::size_t items = 0; items < 4; ++items) {
    if (const auto read = search::read_bulk_answer(text, items); read && read->size() != items)
      std::abort();
    if (const auto read = search::read_documents(text, items); read && read->size() != items)
      std::abort();
  }
  (void)search::read_page(text);
  (void)search::read_count(text);
  (void)search::read_stored(text);
  (void)search::read_error(400, text);
  (void)search::read_mapping(text);
  (void)search::read_settings(text);
  (void)search::read_named(text, "t");
  (void)search::read_reject_page(text);
  if (const auto stored = search::read_reject(text); stored) {
    const auto again =
        search::read_reject("{\"_id\":\"x\",\"_source\":" + to_json(stored->record) + "}");
    if (!again || again->record.document != stored->record.document)
      std::abort();
  }
  if (const auto state = search::read_state(text); state && !state->is_foreign)
    if (const auto again = search::read_state(to_json(*state)); again != *state)
      std::abort();
  return 0;
}
