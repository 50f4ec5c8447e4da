#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
  char name[16];
  int value;
  struct item *next;
};

static struct item *add(struct item *list, const char *name, int value) {
  struct item *item = malloc(sizeof(struct item));
  strncpy(item->name, name, sizeof(item->name) - 1);
  item->name[sizeof(item->name) - 1] = '\0';
  item->value = value;
  item->next = list;
  return item;
}

int main(int argc, char **argv) {
  struct item *list = NULL;
  char name[16];
  int value, sum = 0;
  FILE *input = argc > 1 ? fopen(argv[1], "r") : stdin;
  if (input == NULL) return 2;
  while (fscanf(input, "%15s %d", name, &value) == 2) list = add(list, name, value);
  for (struct item *item = list; item != NULL; item = item->next) {
    printf("%s=%d\n", item->name, item->value);
    sum += item->value;
  }
  printf("sum %d\n", sum);
  if (argc > 2) {
    FILE *output = fopen(argv[2], "w");
    fprintf(output, "%d\n", sum);
    fclose(output);
  }
  return 0;
}
