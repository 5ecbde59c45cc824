#include <cstdio>

int main() {
  std::puts("cdc-actors");
  return 0;
}
