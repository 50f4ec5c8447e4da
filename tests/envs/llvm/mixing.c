#include <stdio.h>

static unsigned turn(unsigned x, int by) { return x << by | x >> (32 - by); }

static unsigned total(const unsigned *s, int count) {
  unsigned result = count;
  for (int i = 0; i < count; i++) result = turn(result, 5) + s[i] * (i + 1);
  return result;
}

static void mix(unsigned *s, int rounds) {
  unsigned a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
  unsigned i = s[8], j = s[9], k = s[10], l = s[11], m = s[12], n = s[13], o = s[14], p = s[15];
  for (int round = 0; round < rounds; round++) {
    a += e ^ turn(m, 7), b += f ^ turn(n, 9), c += g ^ turn(o, 13), d += h ^ turn(p, 18);
    e += i ^ turn(a, 7), f += j ^ turn(b, 9), g += k ^ turn(c, 13), h += l ^ turn(d, 18);
    i += m ^ turn(e, 7), j += n ^ turn(f, 9), k += o ^ turn(g, 13), l += p ^ turn(h, 18);
    m += a ^ turn(i, 7), n += b ^ turn(j, 9), o += c ^ turn(k, 13), p += d ^ turn(l, 18);
  }
  s[0] = a, s[1] = b, s[2] = c, s[3] = d, s[4] = e, s[5] = f, s[6] = g, s[7] = h;
  s[8] = i, s[9] = j, s[10] = k, s[11] = l, s[12] = m, s[13] = n, s[14] = o, s[15] = p;
}

static void blend(unsigned *s, int from, int to) {
  for (int i = from; i < to; i++) {
    unsigned left = s[i % 16], right = s[(i + 5) % 16], more = s[(i + 7) % 16];
    s[i % 16] = total(s, i % 9 + 1) + left * right;
    s[(i + 5) % 16] = turn(left, i % 31 + 1) ^ more;
    s[(i + 7) % 16] = more > right ? total(s + 3, 4) : right - left;
  }
}

static unsigned check(unsigned *s, int rounds) {
  mix(s, rounds);
  blend(s, rounds, 3 * rounds);
  return total(s, 16);
}

int main(void) {
  unsigned state[16];
  for (int i = 0; i < 16; i++) state[i] = i * i;
  for (int i = 1; i < 4; i++) printf("%u %u\n", check(state, i), total(state, i + 4));
  blend(state, 2, 40);
  mix(state, 20);
  printf("%u\n", check(state, 9));
  return 0;
}
