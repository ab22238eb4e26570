#include "distinct.h"

#include <stdlib.h>
#include <string.h>

/* Places of the first table, a power of two. */
#ifndef FEWEST_PLACES /* tests have less */
#define FEWEST_PLACES 1024
#endif

/* Numbers ahead of the one that is looked for, whose places are fetched meanwhile. */
enum { AHEAD = 16 };

/* A place of the table: the bits of a number, and which distinct one it is, counted from 1; 0 where there
   is none. */
typedef struct {
  u64 bits;
  i64 which;
} Place;

typedef struct {
  Place *places;
  u64 mask; /* their count less one */
} Table;

/* Where bits are looked for first: all of them count, wherever they differ from others. */
static Place *first_place(const Table *table, u64 bits) {
  bits = (bits ^ bits >> 32) * 0x9e3779b97f4a7c15u;
  bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9u;
  return table->places + ((bits ^ bits >> 32) & table->mask);
}

/* Where they are, or would be. */
static Place *place_of(const Table *table, u64 bits) {
  Place *place = first_place(table, bits), *const end = table->places + table->mask;
  while (place->which && place->bits != bits) place = place == end ? table->places : place + 1;
  return place;
}

static int make_table(Table *table, u64 count) {
  table->mask = count - 1;
  table->places = calloc((size_t)count, sizeof *table->places);
  return table->places ? 0 : -1;
}

/* Four times as many places: at most half of them are taken. */
static int grow(Table *table) {
  Table larger;
  if (make_table(&larger, 4 * (table->mask + 1))) return -1;
  for (u64 i = 0; i <= table->mask; i++)
    if (table->places[i].which) *place_of(&larger, table->places[i].bits) = table->places[i];
  free(table->places);
  *table = larger;
  return 0;
}

/* The bits of a number, the same for equal ones; whether it equals nothing, not even itself. */
static u64 bits_of(const void *x, int type, i64 i, int *is_apart) {
  u64 wide;
  u32 narrow;
  if (type == TYPE_f64 || type == TYPE_i64) {
    memcpy(&wide, (const char *)x + i * 8, sizeof wide);
    if (type == TYPE_i64) return wide;
    *is_apart = wide << 1 > (u64)0x7ff << 53;
    return wide << 1 ? wide : 0;
  }
  memcpy(&narrow, (const char *)x + i * 4, sizeof narrow);
  if (type == TYPE_i32) return narrow;
  *is_apart = narrow << 1 > 0xffu << 24;
  return narrow << 1 ? narrow : 0;
}

/* One more distinct number; returns how many there are, or -1. */
static i64 add_distinct(Distinct *found, i64 place) {
  if (found->count == found->room) {
    const i64 room = 2 * found->room + FEWEST_PLACES;
    i64 *first = realloc(found->first, (size_t)room * sizeof *first);
    if (!first) return -1;
    found->first = first;
    i64 *times = realloc(found->times, (size_t)room * sizeof *times);
    if (!times) return -1;
    found->times = times;
    found->room = room;
  }
  found->first[found->count] = place;
  found->times[found->count] = 0;
  return ++found->count;
}

static int search(Table *table, const void *x, int type, i64 n, Distinct *found, i64 *number) {
  int is_apart = 0, unused;
  for (i64 i = 0; i < n; i++, is_apart = 0) {
    if (i + AHEAD < n) PREFETCH(first_place(table, bits_of(x, type, i + AHEAD, &unused)));
    const u64 bits = bits_of(x, type, i, &is_apart);
    Place *place = is_apart ? NULL : place_of(table, bits);
    i64 which = place ? place->which : 0;
    if (!which) {
      which = add_distinct(found, i);
      if (which < 0) return -1;
      if (place) {
        *place = (Place){bits, which};
        if ((u64)which > table->mask / 2 && grow(table)) return -1;
      }
    }
    number[i] = which - 1;
  }
  for (i64 i = 0; i < n; i++) found->times[number[i]]++;
  return 0;
}

int find_distinct(const void *x, int type, i64 n, Distinct *found, i64 *number) {
  Table table;
  if (make_table(&table, FEWEST_PLACES)) return -1;
  const int failed = search(&table, x, type, n, found, number);
  free(table.places);
  return failed;
}

void free_distinct(Distinct *found) {
  free(found->first);
  free(found->times);
}
