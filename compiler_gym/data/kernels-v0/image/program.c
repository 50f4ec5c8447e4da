// image: integer-only processing of RGB images that are generated or read.
// Input words, '#' comments run to the end of the line. Sources:
//   gradient W H | circles W H COUNT SEED | plasma W H SEED | mandel W H LIMIT |
//   pixels W H RRGGBB...
// Operations on the current image: gray | invert | box R | gauss R | median R | sobel |
//   equalize | dct QUALITY | resize W H | dither | otsu | rotate | mirror | stats |
//   show | keep | psnr (compares with the kept image)

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxSide = 512, kMaxRadius = 4, kWordMax = 16, kChannels = 3, kBlock = 8, kFixBits = 16 };

typedef struct {
  int width, height;
  uint8_t* data;  // red, green, blue for each pixel, row by row
} Image;

typedef struct {
  Image image, kept;
  uint32_t crc_table[256];
  int32_t cosine[kBlock][kBlock];  // DCT basis in 1/8192
  uint8_t zigzag[kBlock * kBlock];
} Studio;

// An operation on one channel plane of the given size.
typedef void (*PlaneFilter)(const uint8_t* in, uint8_t* out, int width, int height, int radius);

// ---------------------------------------------------------------------------
// Helpers.

static void* Allocate(size_t count, size_t size) {
  void* p = calloc(count ? count : 1, size);
  if (!p) {
    printf("out of memory\n");
    exit(0);
  }
  return p;
}

static uint32_t NextRandom(uint32_t* state) {
  *state = *state * 747796405u + 2891336453u;
  uint32_t word = ((*state >> ((*state >> 28) + 4)) ^ *state) * 277803737u;
  return (word >> 22) ^ word;
}

static int Clamp(int v, int low, int high) { return v < low ? low : v > high ? high : v; }

static uint8_t ToByte(int v) { return (uint8_t)Clamp(v, 0, 255); }

// Rounds half away from zero, for either sign of v and a positive n.
static int DivideRounded(int v, int n) { return v >= 0 ? (v + n / 2) / n : -((-v + n / 2) / n); }

static int IntegerSqrt(int v) {
  int root = 0;
  for (int bit = 1 << 10; bit != 0; bit >>= 1) {
    if ((root + bit) * (root + bit) <= v) root += bit;
  }
  return root;
}

static size_t ByteCount(const Image* im) { return (size_t)(im->width * im->height) * kChannels; }

static Image NewImage(int width, int height) {
  Image im = {width, height, NULL};
  im.data = Allocate((size_t)(width * height), kChannels);
  return im;
}

static void Replace(Image* im, Image with) {
  free(im->data);
  *im = with;
}

static uint8_t* PixelAt(const Image* im, int x, int y) {
  return im->data + (size_t)(y * im->width + x) * kChannels;
}

static int Luma(const uint8_t* p) { return (77 * p[0] + 150 * p[1] + 29 * p[2] + 128) >> 8; }

static void BuildTables(Studio* s) {
  for (uint32_t n = 0; n < 256; n++) {
    uint32_t c = n;
    for (int k = 0; k < 8; k++) c = c & 1u ? 0xedb88320u ^ (c >> 1) : c >> 1;
    s->crc_table[n] = c;
  }
  for (int u = 0; u < kBlock; u++) {
    for (int x = 0; x < kBlock; x++) {
      double scale = u == 0 ? sqrt(0.125) : 0.5;
      double value = scale * cos((2 * x + 1) * u * 3.14159265358979323846 / 16.0) * 8192.0;
      s->cosine[u][x] = (int32_t)floor(value + 0.5);
    }
  }
  // Diagonals are walked upwards and downwards in turn.
  int n = 0;
  for (int d = 0; d < 2 * kBlock - 1; d++) {
    for (int i = 0; i <= d; i++) {
      int row = d % 2 == 0 ? d - i : i, column = d - row;
      if (row < kBlock && column < kBlock) s->zigzag[n++] = (uint8_t)(row * kBlock + column);
    }
  }
}

static uint32_t Checksum(const Studio* s, const Image* im) {
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < ByteCount(im); i++) {
    crc = s->crc_table[(crc ^ im->data[i]) & 0xffu] ^ (crc >> 8);
  }
  return ~crc;
}

// ---------------------------------------------------------------------------
// Sources.

static void DrawGradient(Image* im) {
  for (int y = 0; y < im->height; y++) {
    for (int x = 0; x < im->width; x++) {
      uint8_t* p = PixelAt(im, x, y);
      p[0] = (uint8_t)(x * 255 / im->width);
      p[1] = (uint8_t)(y * 255 / im->height);
      p[2] = (uint8_t)((x ^ y) & 0xff);
    }
  }
}

static void DrawCircle(Image* im, int cx, int cy, int radius, const uint8_t color[kChannels]) {
  int top = Clamp(cy - radius, 0, im->height - 1), bottom = Clamp(cy + radius, 0, im->height - 1);
  int left = Clamp(cx - radius, 0, im->width - 1), right = Clamp(cx + radius, 0, im->width - 1);
  for (int y = top; y <= bottom; y++) {
    for (int x = left; x <= right; x++) {
      int distance = (x - cx) * (x - cx) + (y - cy) * (y - cy);
      if (distance > radius * radius) continue;
      memcpy(PixelAt(im, x, y), color, kChannels);
    }
  }
}

static void DrawCircles(Image* im, int count, uint32_t seed) {
  for (int i = 0; i < count; i++) {
    uint8_t color[kChannels];
    int cx = (int)(NextRandom(&seed) % (uint32_t)im->width);
    int cy = (int)(NextRandom(&seed) % (uint32_t)im->height);
    int radius = 2 + (int)(NextRandom(&seed) % 24u);
    for (int c = 0; c < kChannels; c++) color[c] = (uint8_t)(NextRandom(&seed) & 0xffu);
    DrawCircle(im, cx, cy, radius, color);
  }
}

static int LatticeValue(uint32_t seed, int x, int y) {
  uint32_t state = seed + (uint32_t)x * 0x9e3779b1u + (uint32_t)y * 0x85ebca6bu;
  return (int)(NextRandom(&state) & 0xffu);
}

// Smooth noise on a lattice of 2^shift pixels; fractions are in 1/256.
static int NoiseAt(uint32_t seed, int x, int y, int shift) {
  int size = 1 << shift;
  int cx = x >> shift, cy = y >> shift;
  int fx = ((x & (size - 1)) << 8) >> shift, fy = ((y & (size - 1)) << 8) >> shift;
  fx = fx * fx * (768 - 2 * fx) >> 16;  // 3 t^2 - 2 t^3
  fy = fy * fy * (768 - 2 * fy) >> 16;
  int top = LatticeValue(seed, cx, cy) * (256 - fx) + LatticeValue(seed, cx + 1, cy) * fx;
  int low = LatticeValue(seed, cx, cy + 1) * (256 - fx) + LatticeValue(seed, cx + 1, cy + 1) * fx;
  return (top * (256 - fy) + low * fy) >> 16;
}

static void DrawPlasma(Image* im, uint32_t seed) {
  for (int y = 0; y < im->height; y++) {
    for (int x = 0; x < im->width; x++) {
      for (int c = 0; c < kChannels; c++) {
        uint32_t s = seed + (uint32_t)c * 1000003u;
        int v = 4 * NoiseAt(s, x, y, 6) + 2 * NoiseAt(s, x, y, 4) + NoiseAt(s, x, y, 2);
        PixelAt(im, x, y)[c] = (uint8_t)(v / 7);
      }
    }
  }
}

// Escape times of z -> z^2 + c with 20 fraction bits.
static void DrawMandelbrot(Image* im, int limit) {
  const int64_t one = INT64_C(1) << 20;
  for (int y = 0; y < im->height; y++) {
    int64_t ci = (2 * y - im->height) * one * 5 / (4 * im->height);
    for (int x = 0; x < im->width; x++) {
      int64_t cr = x * one * 3 / im->width - one * 9 / 4;
      int64_t zr = 0, zi = 0;
      int n = 0;
      for (; n < limit; n++) {
        int64_t rr = zr * zr / one, ii = zi * zi / one;
        if (rr + ii > 4 * one) break;
        zi = 2 * zr * zi / one + ci;
        zr = rr - ii + cr;
      }
      uint8_t* p = PixelAt(im, x, y);
      p[0] = (uint8_t)(n == limit ? 0 : n * 7 & 0xff);
      p[1] = (uint8_t)(n == limit ? 0 : n * 255 / limit);
      p[2] = (uint8_t)(n * 29 & 0xff);
    }
  }
}

// ---------------------------------------------------------------------------
// Filters on single planes. Pixels beyond the border repeat the nearest one.

static void BoxRows(const uint8_t* in, uint8_t* out, int width, int height, int radius) {
  int n = 2 * radius + 1;
  for (int y = 0; y < height; y++, in += width, out += width) {
    int sum = in[0] * (radius + 1);
    for (int i = 1; i <= radius; i++) sum += in[Clamp(i, 0, width - 1)];
    for (int x = 0; x < width; x++) {
      out[x] = (uint8_t)((sum + radius) / n);
      sum += in[Clamp(x + radius + 1, 0, width - 1)] - in[Clamp(x - radius, 0, width - 1)];
    }
  }
}

static void TransposePlane(const uint8_t* in, uint8_t* out, int width, int height) {
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) out[x * height + y] = in[y * width + x];
  }
}

// The vertical pass is the horizontal one on the transposed plane.
static void FilterBox(const uint8_t* in, uint8_t* out, int width, int height, int radius) {
  uint8_t* rows = Allocate((size_t)(width * height), 1);
  uint8_t* turned = Allocate((size_t)(width * height), 1);
  BoxRows(in, rows, width, height, radius);
  TransposePlane(rows, turned, width, height);
  BoxRows(turned, rows, height, width, radius);
  TransposePlane(rows, out, height, width);
  free(rows);
  free(turned);
}

// Binomial weights of order 2 * radius, which sum up to a power of two.
static void FilterGauss(const uint8_t* in, uint8_t* out, int width, int height, int radius) {
  int weight[2 * kMaxRadius + 1] = {1};
  int order = 2 * radius, half = 1 << order >> 1;
  uint8_t* rows = Allocate((size_t)(width * height), 1);
  for (int n = 1; n <= order; n++) {
    for (int k = n; k > 0; k--) weight[k] += weight[k - 1];
  }
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      int sum = half;
      for (int k = -radius; k <= radius; k++) {
        sum += weight[k + radius] * in[y * width + Clamp(x + k, 0, width - 1)];
      }
      rows[y * width + x] = (uint8_t)(sum >> order);
    }
  }
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      int sum = half;
      for (int k = -radius; k <= radius; k++) {
        sum += weight[k + radius] * rows[Clamp(y + k, 0, height - 1) * width + x];
      }
      out[y * width + x] = (uint8_t)(sum >> order);
    }
  }
  free(rows);
}

static uint8_t Min(uint8_t a, uint8_t b) { return a < b ? a : b; }

static uint8_t Max(uint8_t a, uint8_t b) { return a > b ? a : b; }

static uint8_t MedianOfThree(uint8_t a, uint8_t b, uint8_t c) {
  return Max(Min(a, b), Min(Max(a, b), c));
}

// For 3x3 windows: of the three columns' minima, medians and maxima only the
// largest minimum, the middle median and the smallest maximum can be in the middle.
static void MedianSmall(const uint8_t* in, uint8_t* out, int width, int height) {
  for (int y = 0; y < height; y++) {
    const uint8_t *up = in + Clamp(y - 1, 0, height - 1) * width, *here = in + y * width;
    const uint8_t* down = in + Clamp(y + 1, 0, height - 1) * width;
    for (int x = 0; x < width; x++) {
      uint8_t low[3], middle[3], high[3];
      for (int k = 0; k < 3; k++) {
        int at = Clamp(x + k - 1, 0, width - 1);
        low[k] = Min(up[at], Min(here[at], down[at]));
        middle[k] = MedianOfThree(up[at], here[at], down[at]);
        high[k] = Max(up[at], Max(here[at], down[at]));
      }
      out[y * width + x] = MedianOfThree(Max(low[0], Max(low[1], low[2])),
                                         MedianOfThree(middle[0], middle[1], middle[2]),
                                         Min(high[0], Min(high[1], high[2])));
    }
  }
}

typedef struct {
  int count[256];
  int median, below;  // how many values are smaller than the median
} Histogram;

// Adds (change 1) or removes (change -1) one column of a window.
static void CountColumn(Histogram* h, const uint8_t* column, int width, int top, int bottom,
                        int height, int change) {
  for (int y = top; y <= bottom; y++) {
    int v = column[Clamp(y, 0, height - 1) * width];
    h->count[v] += change;
    if (v < h->median) h->below += change;
  }
}

// Larger windows: a histogram slides along the row, and the median with it.
static void FilterMedian(const uint8_t* in, uint8_t* out, int width, int height, int radius) {
  if (radius == 1) {
    MedianSmall(in, out, width, height);
    return;
  }
  int side = 2 * radius + 1, wanted = side * side / 2;
  for (int y = 0; y < height; y++) {
    int top = y - radius, bottom = y + radius;
    Histogram h;
    memset(&h, 0, sizeof(h));
    for (int x = -radius; x < radius; x++) {
      CountColumn(&h, in + Clamp(x, 0, width - 1), width, top, bottom, height, 1);
    }
    for (int x = 0; x < width; x++) {
      CountColumn(&h, in + Clamp(x + radius, 0, width - 1), width, top, bottom, height, 1);
      while (h.below > wanted) h.below -= h.count[--h.median];
      while (h.below + h.count[h.median] <= wanted) h.below += h.count[h.median++];
      out[y * width + x] = (uint8_t)h.median;
      CountColumn(&h, in + Clamp(x - radius, 0, width - 1), width, top, bottom, height, -1);
    }
  }
}

static void ApplyToPlanes(Image* im, PlaneFilter filter, int radius) {
  size_t pixels = (size_t)(im->width * im->height);
  uint8_t *in = Allocate(pixels, 1), *out = Allocate(pixels, 1);
  for (int c = 0; c < kChannels; c++) {
    for (size_t i = 0; i < pixels; i++) in[i] = im->data[i * kChannels + (size_t)c];
    filter(in, out, im->width, im->height, radius);
    for (size_t i = 0; i < pixels; i++) im->data[i * kChannels + (size_t)c] = out[i];
  }
  free(in);
  free(out);
}

// ---------------------------------------------------------------------------
// Operations on whole images.

static void Gray(Image* im) {
  for (uint8_t* p = im->data; p < im->data + ByteCount(im); p += kChannels) {
    p[0] = p[1] = p[2] = (uint8_t)Luma(p);
  }
}

static void Invert(Image* im) {
  for (size_t i = 0; i < ByteCount(im); i++) im->data[i] = (uint8_t)(255 - im->data[i]);
}

static void Sobel(Image* im) {
  Image out = NewImage(im->width, im->height);
  int w = im->width, h = im->height;
  int* luma = Allocate((size_t)(w * h), sizeof(int));
  for (int i = 0; i < w * h; i++) luma[i] = Luma(im->data + i * kChannels);
  for (int y = 0; y < h; y++) {
    const int *up = luma + Clamp(y - 1, 0, h - 1) * w, *here = luma + y * w;
    const int* down = luma + Clamp(y + 1, 0, h - 1) * w;
    for (int x = 0; x < w; x++) {
      int l = Clamp(x - 1, 0, w - 1), r = Clamp(x + 1, 0, w - 1);
      int gx = up[r] + 2 * here[r] + down[r] - up[l] - 2 * here[l] - down[l];
      int gy = down[l] + 2 * down[x] + down[r] - up[l] - 2 * up[x] - up[r];
      memset(PixelAt(&out, x, y), ToByte(IntegerSqrt(gx * gx + gy * gy)), kChannels);
    }
  }
  free(luma);
  Replace(im, out);
}

static void Equalize(Image* im) {
  int pixels = im->width * im->height;
  for (int c = 0; c < kChannels; c++) {
    int histogram[256] = {0};
    uint8_t map[256];
    int sum = 0, first = 0;
    for (int i = 0; i < pixels; i++) histogram[im->data[i * kChannels + c]]++;
    while (histogram[first] == 0) first++;
    int base = histogram[first], span = pixels - base;
    for (int v = 0; v < 256; v++) {
      sum += histogram[v];
      map[v] = span == 0 ? (uint8_t)v : ToByte(((sum - base) * 255 + span / 2) / span);
    }
    for (int i = 0; i < pixels; i++) {
      im->data[i * kChannels + c] = map[im->data[i * kChannels + c]];
    }
  }
}

// Threshold that separates dark from light with the greatest variance between.
static int Otsu(Image* im) {
  int histogram[256] = {0}, pixels = im->width * im->height, best = 0, below = 0;
  int64_t total = 0, sum = 0, best_score = -1;
  for (int i = 0; i < pixels; i++) histogram[Luma(im->data + i * kChannels)]++;
  for (int v = 0; v < 256; v++) total += (int64_t)v * histogram[v];
  for (int v = 0; v < 255; v++) {
    below += histogram[v];
    sum += (int64_t)v * histogram[v];
    if (below == 0 || below == pixels) continue;
    int64_t gap = (total - sum) * 256 / (pixels - below) - sum * 256 / below;
    int64_t score = gap * gap / 256 * below / pixels * (pixels - below);
    if (score > best_score) {
      best_score = score;
      best = v;
    }
  }
  for (int i = 0; i < pixels; i++) {
    uint8_t* p = im->data + i * kChannels;
    memset(p, Luma(p) > best ? 255 : 0, kChannels);
  }
  return best;
}

// Error diffusion to black and white, rows from left to right.
static void Dither(Image* im) {
  int w = im->width;
  int *error = Allocate((size_t)w + 2, sizeof(int)), *next = Allocate((size_t)w + 2, sizeof(int));
  for (int y = 0; y < im->height; y++) {
    memset(next, 0, ((size_t)w + 2) * sizeof(int));
    for (int x = 0; x < w; x++) {
      uint8_t* p = PixelAt(im, x, y);
      int wanted = Luma(p) * 16 + error[x + 1];
      int value = wanted >= 128 * 16 ? 255 : 0;
      int left = DivideRounded(wanted - value * 16, 16);
      memset(p, value, kChannels);
      error[x + 2] += left * 7;
      next[x] += left * 3;
      next[x + 1] += left * 5;
      next[x + 2] += left;
    }
    int* t = error;
    error = next;
    next = t;
  }
  free(error);
  free(next);
}

static void Rotate(Image* im) {
  Image out = NewImage(im->height, im->width);
  for (int y = 0; y < im->height; y++) {
    for (int x = 0; x < im->width; x++) {
      memcpy(PixelAt(&out, im->height - 1 - y, x), PixelAt(im, x, y), kChannels);
    }
  }
  Replace(im, out);
}

static void Mirror(Image* im) {
  for (int y = 0; y < im->height; y++) {
    for (int l = 0, r = im->width - 1; l < r; l++, r--) {
      uint8_t t[kChannels];
      memcpy(t, PixelAt(im, l, y), kChannels);
      memcpy(PixelAt(im, l, y), PixelAt(im, r, y), kChannels);
      memcpy(PixelAt(im, r, y), t, kChannels);
    }
  }
}

static void Resize(Image* im, int width, int height) {
  Image out = NewImage(width, height);
  const int one = 1 << kFixBits;
  for (int y = 0; y < height; y++) {
    int sy = (int)((int64_t)y * im->height * one / height);
    int y0 = sy >> kFixBits, y1 = Clamp(y0 + 1, 0, im->height - 1), fy = (sy & (one - 1)) >> 8;
    for (int x = 0; x < width; x++) {
      int sx = (int)((int64_t)x * im->width * one / width);
      int x0 = sx >> kFixBits, x1 = Clamp(x0 + 1, 0, im->width - 1), fx = (sx & (one - 1)) >> 8;
      for (int c = 0; c < kChannels; c++) {
        int top = PixelAt(im, x0, y0)[c] * (256 - fx) + PixelAt(im, x1, y0)[c] * fx;
        int low = PixelAt(im, x0, y1)[c] * (256 - fx) + PixelAt(im, x1, y1)[c] * fx;
        PixelAt(&out, x, y)[c] = (uint8_t)((top * (256 - fy) + low * fy + 32768) >> 16);
      }
    }
  }
  Replace(im, out);
}

// ---------------------------------------------------------------------------
// Block transform coding.

// out = T * in * T' (or T' * in * T for the inverse) with rounding in between.
static void Transform(const Studio* s, const int in[kBlock][kBlock], int out[kBlock][kBlock],
                      bool inverse) {
  int middle[kBlock][kBlock];
  for (int u = 0; u < kBlock; u++) {
    for (int x = 0; x < kBlock; x++) {
      int sum = 0;
      for (int y = 0; y < kBlock; y++) {
        sum += (inverse ? s->cosine[y][u] : s->cosine[u][y]) * in[y][x];
      }
      middle[u][x] = DivideRounded(sum, 1024);  // keeps three fraction bits
    }
  }
  for (int u = 0; u < kBlock; u++) {
    for (int v = 0; v < kBlock; v++) {
      int sum = 0;
      for (int x = 0; x < kBlock; x++) {
        sum += (inverse ? s->cosine[x][v] : s->cosine[v][x]) * middle[u][x];
      }
      out[u][v] = DivideRounded(sum, 8 * 8192);
    }
  }
}

static int BitsOf(int v) {
  int bits = 0;
  for (unsigned u = (unsigned)(v < 0 ? -v : v); u != 0; u >>= 1) bits++;
  return bits;
}

// Coarser for higher frequencies; quality 100 hardly loses anything.
static int Quantizer(int row, int column, int quality, bool chroma) {
  int base = 6 + 3 * (row + column) + row * column / 2;
  if (chroma) base += base / 2;
  return Clamp(DivideRounded(base * (101 - quality), 50), 1, 255);
}

// Quantises one block in place and adds up the size of its run-length code.
static int CodeBlock(const Studio* s, int block[kBlock][kBlock], int quality, bool chroma,
                     int* kept) {
  int coefficients[kBlock][kBlock], bits = 0, run = 0;
  Transform(s, (const int (*)[kBlock])block, coefficients, false);
  for (int i = 0; i < kBlock * kBlock; i++) {
    int row = s->zigzag[i] / kBlock, column = s->zigzag[i] % kBlock;
    int step = Quantizer(row, column, quality, chroma);
    int level = DivideRounded(coefficients[row][column], step);
    coefficients[row][column] = level * step;
    if (level == 0) {
      run++;
      continue;
    }
    bits += 2 * BitsOf(run + 1) + 2 * BitsOf(level);
    run = 0;
    ++*kept;
  }
  Transform(s, (const int (*)[kBlock])coefficients, block, true);
  return bits + 2;
}

static void ToYcc(const uint8_t* p, int ycc[kChannels]) {
  ycc[0] = DivideRounded(77 * p[0] + 150 * p[1] + 29 * p[2], 256) - 128;
  ycc[1] = DivideRounded(-43 * p[0] - 85 * p[1] + 128 * p[2], 256);
  ycc[2] = DivideRounded(128 * p[0] - 107 * p[1] - 21 * p[2], 256);
}

static void ToRgb(const int ycc[kChannels], uint8_t* p) {
  int y = ycc[0] + 128;
  p[0] = ToByte(y + DivideRounded(359 * ycc[2], 256));
  p[1] = ToByte(y - DivideRounded(88 * ycc[1] + 183 * ycc[2], 256));
  p[2] = ToByte(y + DivideRounded(454 * ycc[1], 256));
}

static void CompressDct(const Studio* s, Image* im, int quality, int* kept, int* bits) {
  *kept = *bits = 0;
  for (int by = 0; by < im->height; by += kBlock) {
    for (int bx = 0; bx < im->width; bx += kBlock) {
      int block[kChannels][kBlock][kBlock];
      for (int i = 0; i < kBlock * kBlock; i++) {
        // Blocks that stick out are filled up with the last row or column.
        int x = Clamp(bx + i % kBlock, 0, im->width - 1);
        int y = Clamp(by + i / kBlock, 0, im->height - 1);
        int ycc[kChannels];
        ToYcc(PixelAt(im, x, y), ycc);
        for (int c = 0; c < kChannels; c++) block[c][i / kBlock][i % kBlock] = ycc[c];
      }
      for (int c = 0; c < kChannels; c++) *bits += CodeBlock(s, block[c], quality, c > 0, kept);
      for (int i = 0; i < kBlock * kBlock; i++) {
        int x = bx + i % kBlock, y = by + i / kBlock;
        if (x >= im->width || y >= im->height) continue;
        int ycc[kChannels];
        for (int c = 0; c < kChannels; c++) ycc[c] = block[c][i / kBlock][i % kBlock];
        ToRgb(ycc, PixelAt(im, x, y));
      }
    }
  }
}

// ---------------------------------------------------------------------------
// Reports.

static void PrintStats(const Image* im) {
  static const char* const kNames[kChannels] = {"red", "green", "blue"};
  int pixels = im->width * im->height;
  for (int c = 0; c < kChannels; c++) {
    int histogram[256] = {0}, low = 255, high = 0;
    int64_t sum = 0, squares = 0;
    double entropy = 0.0;
    for (int i = 0; i < pixels; i++) {
      int v = im->data[i * kChannels + c];
      histogram[v]++;
      sum += v;
      squares += v * v;
      low = v < low ? v : low;
      high = v > high ? v : high;
    }
    for (int v = 0; v < 256; v++) {
      double share = (double)histogram[v] / pixels;
      if (histogram[v] > 0 && histogram[v] < pixels) entropy -= share * log2(share);
    }
    double mean = (double)sum / pixels;
    double variance = (double)squares / pixels - mean * mean;
    printf("  %-5s %3d..%3d mean %.4f deviation %.4f entropy %.4f\n", kNames[c], low, high, mean,
           variance > 1e-9 ? sqrt(variance) : 0.0, entropy);
  }
}

static void Show(const Image* im) {
  static const char kShades[] = " .:-=+*#%@";
  int columns = im->width < 48 ? im->width : 48, rows = im->height < 16 ? im->height : 16;
  for (int r = 0; r < rows; r++) {
    for (int c = 0; c < columns; c++) {
      const uint8_t* p = PixelAt(im, c * im->width / columns, r * im->height / rows);
      putchar(kShades[Luma(p) * 10 / 256]);
    }
    printf("|\n");
  }
}

static const char* PrintPsnr(const Image* a, const Image* b) {
  int64_t squares = 0;
  if (!b->data) return "nothing kept";
  if (a->width != b->width || a->height != b->height) return "sizes differ";
  for (size_t i = 0; i < ByteCount(a); i++) {
    int difference = a->data[i] - b->data[i];
    squares += difference * difference;
  }
  if (squares == 0) {
    printf("psnr: identical\n");
  } else {
    double mean = (double)squares / (double)ByteCount(a);
    printf("psnr: %.4f dB\n", 10.0 * log10(255.0 * 255.0 / mean));
  }
  return NULL;
}

// ---------------------------------------------------------------------------
// Input and commands.

static bool ReadWord(char word[kWordMax]) {
  int length = 0, c = getchar();
  while (c != EOF && (isspace(c) || c == '#')) {
    if (c == '#') {
      while (c != EOF && c != '\n') c = getchar();
    } else {
      c = getchar();
    }
  }
  for (; c != EOF && !isspace(c); c = getchar()) {
    if (length < kWordMax - 1) word[length++] = (char)c;
  }
  word[length] = '\0';
  return length > 0;
}

static bool ReadNumber(int low, int high, int* value) {
  char word[kWordMax];
  int v = 0;
  if (!ReadWord(word) || strlen(word) > 9) return false;
  for (const char* p = word; *p; p++) {
    if (*p < '0' || *p > '9') return false;
    v = v * 10 + (*p - '0');
  }
  *value = v;
  return v >= low && v <= high;
}

static bool ReadColor(uint8_t* p) {
  static const char kDigits[] = "0123456789abcdef";
  char word[kWordMax];
  if (!ReadWord(word) || strlen(word) != 6) return false;
  for (int i = 0; i < 6; i++) {
    const char* digit = strchr(kDigits, tolower((unsigned char)word[i]));
    if (!digit) return false;
    int v = (int)(digit - kDigits);
    p[i / 2] = (uint8_t)(i % 2 == 0 ? v * 16 : p[i / 2] + v);
  }
  return true;
}

// Handles the sources; *done tells whether the word was one.
static const char* Source(Studio* s, const char* word, bool* done) {
  static const char* const kSources[] = {"gradient", "circles", "plasma", "mandel", "pixels"};
  size_t kind = 0, kinds = sizeof(kSources) / sizeof(kSources[0]);
  int width, height, count = 0, seed = 0;
  while (kind < kinds && strcmp(kSources[kind], word) != 0) kind++;
  *done = kind < kinds;
  if (!*done) return NULL;
  if (!ReadNumber(1, kMaxSide, &width) || !ReadNumber(1, kMaxSide, &height)) return "bad size";
  if ((kind == 1 && !ReadNumber(0, 10000, &count)) || (kind == 3 && !ReadNumber(1, 1000, &count))) {
    return "bad count";
  }
  if ((kind == 1 || kind == 2) && !ReadNumber(0, 999999999, &seed)) return "bad seed";
  Replace(&s->image, NewImage(width, height));
  switch (kind) {
    case 0:
      DrawGradient(&s->image);
      break;
    case 1:
      DrawCircles(&s->image, count, (uint32_t)seed);
      break;
    case 2:
      DrawPlasma(&s->image, (uint32_t)seed);
      break;
    case 3:
      DrawMandelbrot(&s->image, count);
      break;
    default:
      for (int i = 0; i < width * height; i++) {
        if (!ReadColor(s->image.data + i * kChannels)) return "bad color";
      }
  }
  return NULL;
}

static const struct {
  const char* name;
  void (*run)(Image*);
} kSimple[] = {{"gray", Gray},     {"invert", Invert}, {"sobel", Sobel},  {"equalize", Equalize},
               {"dither", Dither}, {"rotate", Rotate}, {"mirror", Mirror}};

static const struct {
  const char* name;
  PlaneFilter filter;
} kFilters[] = {{"box", FilterBox}, {"gauss", FilterGauss}, {"median", FilterMedian}};

// Handles everything else; *quiet is set if no checksum line shall follow.
static const char* Operate(Studio* s, const char* word, bool* quiet) {
  Image* im = &s->image;
  int a, b;
  if (!im->data) return "no image or unknown command";
  for (size_t i = 0; i < sizeof(kSimple) / sizeof(kSimple[0]); i++) {
    if (strcmp(kSimple[i].name, word) != 0) continue;
    kSimple[i].run(im);
    return NULL;
  }
  for (size_t i = 0; i < sizeof(kFilters) / sizeof(kFilters[0]); i++) {
    if (strcmp(kFilters[i].name, word) != 0) continue;
    if (!ReadNumber(1, kMaxRadius, &a)) return "bad radius";
    ApplyToPlanes(im, kFilters[i].filter, a);
    return NULL;
  }
  if (strcmp(word, "resize") == 0) {
    if (!ReadNumber(1, kMaxSide, &a) || !ReadNumber(1, kMaxSide, &b)) return "bad size";
    Resize(im, a, b);
    return NULL;
  }
  if (strcmp(word, "dct") == 0) {
    int kept, bits;
    if (!ReadNumber(1, 100, &a)) return "bad quality";
    CompressDct(s, im, a, &kept, &bits);
    printf("dct: %d coefficients, %d bits\n", kept, bits);
    return NULL;
  }
  if (strcmp(word, "otsu") == 0) {
    printf("otsu: threshold %d\n", Otsu(im));
    return NULL;
  }
  *quiet = true;
  if (strcmp(word, "stats") == 0) {
    PrintStats(im);
  } else if (strcmp(word, "show") == 0) {
    Show(im);
  } else if (strcmp(word, "keep") == 0) {
    Image copy = NewImage(im->width, im->height);
    memcpy(copy.data, im->data, ByteCount(im));
    Replace(&s->kept, copy);
  } else if (strcmp(word, "psnr") == 0) {
    return PrintPsnr(im, &s->kept);
  } else {
    return "unknown command";
  }
  return NULL;
}

int main(void) {
  Studio studio;
  char word[kWordMax];
  int errors = 0;
  memset(&studio, 0, sizeof(studio));
  BuildTables(&studio);
  while (ReadWord(word)) {
    bool done = false, quiet = false;
    const char* problem = Source(&studio, word, &done);
    if (!done) problem = Operate(&studio, word, &quiet);
    if (problem) {
      printf("%s: error: %s\n", word, problem);
      errors++;
    } else if (!quiet) {
      printf("%s: %dx%d crc %08" PRIx32 "\n", word, studio.image.width, studio.image.height,
             Checksum(&studio, &studio.image));
    }
  }
  printf("%d errors\n", errors);
  free(studio.image.data);
  free(studio.kept.data);
  return 0;
}
