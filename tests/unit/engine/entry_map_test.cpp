#include "engine/entry_map.hpp"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "engine/routes.hpp"
#include "tests/unit/engine/script.hpp"

namespace cdc::engine {
namespace {

TEST(entry_map, finds_what_was_added_and_nothing_else) {
  entry_map map;
  EXPECT_EQ(map.find("a"), nullptr);
  map.add("a").become(entry_state::whole, 7, 1);
  map.add("").become(entry_state::gone, 8, 2);

  ASSERT_NE(map.find("a"), nullptr);
  EXPECT_EQ(map.find("a")->last, 7U);
  EXPECT_EQ(map.find("")->state, entry_state::gone);
  EXPECT_EQ(map.find("b"), nullptr);
  EXPECT_EQ(map.size(), 2U);
}

TEST(entry_map, behaves_like_a_map_through_removals_and_sweeps) {
  std::mt19937 random{7};
  entry_map map;
  std::map<std::string, std::uint64_t> model;
  for (std::uint64_t step = 1; step < 20'000; ++step) {
    const auto key = std::to_string(random() % 700);
    switch (random() % 8) {
      case 0:
        if (auto* known = map.find(key))
          map.remove(*known);
        model.erase(key);
        break;
      case 1:
        if (step % 50 == 0)
          map.tidy();
        break;
      default:
        map.add(key).become(entry_state::whole, 1, step);
        model[key] = step;
    }
    ASSERT_EQ(map.size(), model.size());
    const auto* known = map.find(key);
    ASSERT_EQ(known != nullptr, model.contains(key));
    if (known != nullptr) {
      ASSERT_EQ(known->number, model[key]);
      ASSERT_EQ(map.key_of(*known), key);
    }
  }
  std::size_t seen = 0;
  map.for_each([&](const entry& each, std::string_view key) {
    ++seen;
    EXPECT_EQ(each.number, model.at(std::string{key}));
  });
  EXPECT_EQ(seen, model.size());
}

TEST(entry_map, counts_the_bytes_of_cells_and_gives_all_back) {
  entry_map map;
  auto& made = map.add("key");
  made.become(entry_state::partial, 1, 1);
  const auto before = map.bytes();
  const auto shape = test::shape_of("items", 1);
  routes known;
  auto& of = known.add(shape, test::target_of(shape), nullptr);
  of.used = {1};
  const auto rows = test::script{shape}.insert({"1", std::string(1000, 'a'), "b", "c"}).take();
  map.set_cells(made, {{}, of, *rows, 0});
  EXPECT_GE(map.bytes(), before + 1000);

  map.remove(*map.find("key"));
  map.tidy();

  EXPECT_LT(map.bytes(), before);
}

} // namespace
} // namespace cdc::engine
