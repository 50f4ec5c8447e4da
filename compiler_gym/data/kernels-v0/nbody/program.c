// nbody: gravitating bodies (units: astronomical units, years, solar masses)
// moved by one of five integrators, with energies, momenta and orbital elements;
// a fixed-point integrator and a Kepler-equation cross-check are included.
// Input lines ('#' comments): body NAME MASS X Y Z VX VY VZ | recenter | reset |
//   run METHOD STEPS DT | report | elements | fixed STEPS STEPS_PER_YEAR |
//   kepler ECCENTRICITY STEPS METHOD

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kMaxBodies = 12,
  kNameMax = 15,
  kLineMax = 256,
  kMaxSteps = 1000000,
  kFixBits = 24,  // fraction bits of the fixed-point simulation
  kFixRange = 8   // its bodies must stay within this many units
};

static const double kPi = 3.14159265358979323846;

typedef struct {
  double x, y, z;
} Vec3;

typedef struct {
  char name[kNameMax + 1];
  double mass;
  Vec3 position, velocity;
} Body;

typedef struct {
  Body body[kMaxBodies];
  int count;
  double time;
  double gravity;
} System;

typedef struct {
  Vec3 at[kMaxBodies];
} Field;

// A step moves the system by dt; false if two bodies (nearly) touch.
typedef bool (*StepFn)(System* system, double dt);

// ---------------------------------------------------------------------------
// Vectors.

static Vec3 Add(Vec3 a, Vec3 b) { return (Vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }

static Vec3 Sub(Vec3 a, Vec3 b) { return (Vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }

static Vec3 Scale(Vec3 a, double s) { return (Vec3){a.x * s, a.y * s, a.z * s}; }

static Vec3 AddScaled(Vec3 a, Vec3 b, double s) { return Add(a, Scale(b, s)); }

static double Dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

static Vec3 Cross(Vec3 a, Vec3 b) {
  return (Vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static double Length(Vec3 a) { return sqrt(Dot(a, a)); }

// Keeps "-0.0000" out of the output.
static double Tidy(double v) { return fabs(v) < 0.00005 ? 0.0 : v; }

static void PrintVec(const char* label, Vec3 v) {
  printf(" %s (%.4f %.4f %.4f)", label, Tidy(v.x), Tidy(v.y), Tidy(v.z));
}

// ---------------------------------------------------------------------------
// Physics.

static bool Accelerations(const System* system, Field* field) {
  memset(field, 0, sizeof(*field));
  for (int i = 0; i < system->count; i++) {
    const Body* a = &system->body[i];
    for (int j = i + 1; j < system->count; j++) {
      const Body* b = &system->body[j];
      Vec3 d = Sub(b->position, a->position);
      double r2 = Dot(d, d);
      if (!(r2 > 1e-8)) return false;
      double strength = system->gravity / (r2 * sqrt(r2));
      field->at[i] = AddScaled(field->at[i], d, strength * b->mass);
      field->at[j] = AddScaled(field->at[j], d, -strength * a->mass);
    }
  }
  return true;
}

static void Drift(System* system, double dt) {
  for (int i = 0; i < system->count; i++) {
    Body* b = &system->body[i];
    b->position = AddScaled(b->position, b->velocity, dt);
  }
}

static void Kick(System* system, const Field* field, double dt) {
  for (int i = 0; i < system->count; i++) {
    Body* b = &system->body[i];
    b->velocity = AddScaled(b->velocity, field->at[i], dt);
  }
}

static bool StepEuler(System* system, double dt) {
  Field field;
  if (!Accelerations(system, &field)) return false;
  Drift(system, dt);  // with the old velocities: first order, not symplectic
  Kick(system, &field, dt);
  return true;
}

static bool StepSymplecticEuler(System* system, double dt) {
  Field field;
  if (!Accelerations(system, &field)) return false;
  Kick(system, &field, dt);
  Drift(system, dt);
  return true;
}

static bool StepLeapfrog(System* system, double dt) {
  Field field;
  Drift(system, 0.5 * dt);
  if (!Accelerations(system, &field)) return false;
  Kick(system, &field, dt);
  Drift(system, 0.5 * dt);
  return true;
}

// Fourth-order composition of three leapfrog steps, the middle one backwards.
static bool StepYoshida(System* system, double dt) {
  const double root = cbrt(2.0);
  const double outer = 1.0 / (2.0 - root);
  const double weight[3] = {outer, -root * outer, outer};
  for (int i = 0; i < 3; i++) {
    if (!StepLeapfrog(system, weight[i] * dt)) return false;
  }
  return true;
}

static bool StepRungeKutta(System* system, double dt) {
  static const double kFraction[4] = {0.0, 0.5, 0.5, 1.0};
  static const double kWeight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  const System start = *system;
  System probe = start;
  Field speed, force;
  memset(&speed, 0, sizeof(speed));
  memset(&force, 0, sizeof(force));
  for (int stage = 0; stage < 4; stage++) {
    for (int i = 0; i < start.count; i++) {
      const Body* from = &start.body[i];
      double h = kFraction[stage] * dt;
      probe.body[i].position = AddScaled(from->position, speed.at[i], h);
      probe.body[i].velocity = AddScaled(from->velocity, force.at[i], h);
    }
    if (!Accelerations(&probe, &force)) return false;
    for (int i = 0; i < start.count; i++) {
      Body* to = &system->body[i];
      double w = kWeight[stage] * dt;
      speed.at[i] = probe.body[i].velocity;
      to->position = AddScaled(to->position, speed.at[i], w);
      to->velocity = AddScaled(to->velocity, force.at[i], w);
    }
  }
  return true;
}

static const struct {
  const char* name;
  StepFn step;
} kMethods[] = {{"euler", StepEuler},
                {"symplectic", StepSymplecticEuler},
                {"leapfrog", StepLeapfrog},
                {"yoshida", StepYoshida},
                {"rk4", StepRungeKutta}};

static StepFn FindMethod(const char* name) {
  for (size_t i = 0; i < sizeof(kMethods) / sizeof(kMethods[0]); i++) {
    if (strcmp(name, kMethods[i].name) == 0) return kMethods[i].step;
  }
  return NULL;
}

static double KineticEnergy(const System* system) {
  double sum = 0.0;
  for (int i = 0; i < system->count; i++) {
    const Body* b = &system->body[i];
    sum += 0.5 * b->mass * Dot(b->velocity, b->velocity);
  }
  return sum;
}

static double PotentialEnergy(const System* system) {
  double sum = 0.0;
  for (int i = 0; i < system->count; i++) {
    for (int j = 0; j < i; j++) {
      const Body *a = &system->body[i], *b = &system->body[j];
      sum -= system->gravity * a->mass * b->mass / Length(Sub(a->position, b->position));
    }
  }
  return sum;
}

static double TotalEnergy(const System* system) {
  return KineticEnergy(system) + PotentialEnergy(system);
}

static Vec3 Momentum(const System* system) {
  Vec3 sum = {0, 0, 0};
  for (int i = 0; i < system->count; i++) {
    sum = AddScaled(sum, system->body[i].velocity, system->body[i].mass);
  }
  return sum;
}

static Vec3 AngularMomentum(const System* system) {
  Vec3 sum = {0, 0, 0};
  for (int i = 0; i < system->count; i++) {
    const Body* b = &system->body[i];
    sum = AddScaled(sum, Cross(b->position, b->velocity), b->mass);
  }
  return sum;
}

// Moves the origin to the centre of mass, at rest; false without any mass.
static bool Recenter(System* system) {
  double mass = 0.0;
  Vec3 centre = {0, 0, 0};
  for (int i = 0; i < system->count; i++) {
    mass += system->body[i].mass;
    centre = AddScaled(centre, system->body[i].position, system->body[i].mass);
  }
  if (mass <= 0.0) return false;
  Vec3 drift = Scale(Momentum(system), 1.0 / mass);
  centre = Scale(centre, 1.0 / mass);
  for (int i = 0; i < system->count; i++) {
    system->body[i].position = Sub(system->body[i].position, centre);
    system->body[i].velocity = Sub(system->body[i].velocity, drift);
  }
  return true;
}

// ---------------------------------------------------------------------------
// Fixed point: bit-exact on every machine, so its checksum covers every step.

typedef struct {
  int64_t position[3], velocity[3], gm;
} FixBody;

static int64_t ToFix(double v) { return (int64_t)floor(v * (double)(1 << kFixBits) + 0.5); }

static double FromFix(int64_t v) { return (double)v / (double)(1 << kFixBits); }

// Division, not a shift: it is well defined and symmetric for negative values.
static int64_t FixMul(int64_t a, int64_t b) { return a * b / (1 << kFixBits); }

static int64_t IntegerSqrt(int64_t v) {
  int64_t root = 0;
  for (int64_t bit = INT64_C(1) << 31; bit != 0; bit >>= 1) {
    int64_t candidate = root | bit;
    if (candidate <= v / candidate) root = candidate;
  }
  return root;
}

static bool FixInRange(const FixBody* b) {
  const int64_t limit = (int64_t)kFixRange << kFixBits;
  for (int axis = 0; axis < 3; axis++) {
    if (b->position[axis] <= -limit || b->position[axis] >= limit) return false;
    // No orbit that keeps clear of the other bodies ever gets this fast.
    if (b->velocity[axis] <= -16 * limit || b->velocity[axis] >= 16 * limit) return false;
  }
  return true;
}

static void FixPull(FixBody* to, const int64_t delta[3], int64_t gm, int64_t cube, int sign,
                    int64_t steps_per_year) {
  for (int axis = 0; axis < 3; axis++) {
    int64_t acceleration = gm * delta[axis] / cube;
    to->velocity[axis] += sign * (acceleration / steps_per_year);
  }
}

static bool FixStep(FixBody* body, int count, int64_t steps_per_year) {
  for (int i = 0; i < count; i++) {
    for (int j = i + 1; j < count; j++) {
      int64_t delta[3], r2 = 0;
      for (int axis = 0; axis < 3; axis++) {
        delta[axis] = body[j].position[axis] - body[i].position[axis];
        r2 += FixMul(delta[axis], delta[axis]);
      }
      int64_t r = IntegerSqrt(r2 * (1 << kFixBits));
      if (r < (1 << kFixBits) / 64) return false;
      int64_t cube = FixMul(r2, r);
      FixPull(&body[i], delta, body[j].gm, cube, 1, steps_per_year);
      FixPull(&body[j], delta, body[i].gm, cube, -1, steps_per_year);
    }
  }
  for (int i = 0; i < count; i++) {
    for (int axis = 0; axis < 3; axis++) {
      body[i].position[axis] += body[i].velocity[axis] / steps_per_year;
    }
    if (!FixInRange(&body[i])) return false;
  }
  return true;
}

static const char* RunFixed(const System* system, int steps, int steps_per_year) {
  FixBody body[kMaxBodies];
  uint64_t hash = 14695981039346656037ULL;
  int count = 0;
  // Bodies outside the range of the format are left out rather than refused.
  for (int i = 0; i < system->count; i++) {
    const Body* b = &system->body[i];
    const double p[3] = {b->position.x, b->position.y, b->position.z};
    const double v[3] = {b->velocity.x, b->velocity.y, b->velocity.z};
    if (b->mass > 1.5 || Length(b->velocity) > 100.0 || Length(b->position) > 7.5) continue;
    for (int axis = 0; axis < 3; axis++) {
      body[count].position[axis] = ToFix(p[axis]);
      body[count].velocity[axis] = ToFix(v[axis]);
    }
    body[count++].gm = ToFix(b->mass * system->gravity);
  }
  if (count == 0) return "no body fits the fixed-point range";
  for (int s = 0; s < steps; s++) {
    if (!FixStep(body, count, steps_per_year)) return "fixed-point body lost";
    for (int i = 0; i < count; i++) {
      hash = (hash ^ (uint64_t)body[i].position[s % 3]) * 1099511628211ULL;
    }
  }
  printf("fixed: %d bodies, %d steps, last at", count, steps);
  for (int axis = 0; axis < 3; axis++) {
    printf(" %.4f", Tidy(FromFix(body[count - 1].position[axis])));
  }
  printf(", hash %016" PRIx64 "\n", hash);
  return NULL;
}

// ---------------------------------------------------------------------------
// Kepler's equation against an integrator.

static double EccentricAnomaly(double mean, double e) {
  double anomaly = e < 0.8 ? mean : kPi;
  for (int i = 0; i < 50; i++) {
    double step = (anomaly - e * sin(anomaly) - mean) / (1.0 - e * cos(anomaly));
    anomaly -= step;
    if (fabs(step) < 1e-14) break;
  }
  return anomaly;
}

// One year of a test body on an ellipse of semi-major axis 1 around a unit
// mass, starting at the closest point; reports the worst position error.
static const char* RunKepler(double e, int steps, StepFn step) {
  System pair;
  memset(&pair, 0, sizeof(pair));
  pair.gravity = 4.0 * kPi * kPi;
  pair.count = 2;
  pair.body[0].mass = 1.0;
  pair.body[1].position.x = 1.0 - e;
  pair.body[1].velocity.y = 2.0 * kPi * sqrt((1.0 + e) / (1.0 - e));
  double dt = 1.0 / steps, worst = 0.0;
  int far_side = 0;
  for (int s = 1; s <= steps; s++) {
    if (!step(&pair, dt)) return "orbit hits the centre";
    double anomaly = EccentricAnomaly(2.0 * kPi * s / steps, e);
    Vec3 exact = {cos(anomaly) - e, sqrt(1.0 - e * e) * sin(anomaly), 0.0};
    Vec3 at = Sub(pair.body[1].position, pair.body[0].position);
    worst = fmax(worst, Length(Sub(at, exact)));
    if (at.x < 0) far_side++;
  }
  printf("kepler: e %.4f worst error %.4f, fraction on far side %.4f\n", e, worst,
         (double)far_side / steps);
  return NULL;
}

// ---------------------------------------------------------------------------
// Commands.

static void Report(const System* system) {
  printf("t %.4f kinetic %.4f potential %.4f\n", system->time, 1000.0 * KineticEnergy(system),
         1000.0 * Tidy(PotentialEnergy(system)));
  PrintVec("momentum", Scale(Momentum(system), 1000.0));
  PrintVec("angular", Scale(AngularMomentum(system), 1000.0));
  printf("\n");
  for (int i = 0; i < system->count; i++) {
    printf("  %-8s", system->body[i].name);
    PrintVec("at", system->body[i].position);
    PrintVec("v", system->body[i].velocity);
    printf("\n");
  }
}

// Semi-major axis, eccentricity, inclination and period around body 0.
static void Elements(const System* system) {
  for (int i = 1; i < system->count; i++) {
    const Body* b = &system->body[i];
    Vec3 r = Sub(b->position, system->body[0].position);
    Vec3 v = Sub(b->velocity, system->body[0].velocity);
    double mu = system->gravity * (system->body[0].mass + b->mass);
    double distance = Length(r);
    if (mu <= 0.0 || distance <= 0.0) {
      printf("  %-8s has no orbit\n", b->name);
      continue;
    }
    double energy = 0.5 * Dot(v, v) - mu / distance;
    Vec3 h = Cross(r, v);
    Vec3 ecc = Sub(Scale(Cross(v, h), 1.0 / mu), Scale(r, 1.0 / distance));
    double tilt = Length(h) > 0.0 ? acos(fmax(-1.0, fmin(1.0, h.z / Length(h)))) : 0.0;
    if (energy >= 0.0) {
      printf("  %-8s escapes, e %.4f\n", b->name, fmin(Length(ecc), 1000.0));
      continue;
    }
    double axis = -mu / (2.0 * energy);
    printf("  %-8s a %.4f e %.4f i %.4f period %.4f\n", b->name, axis, Length(ecc),
           tilt * 180.0 / kPi, 2.0 * kPi * sqrt(axis * axis * axis / mu));
  }
}

static bool IsFinite(const System* system) {
  double sum = 0.0;
  for (int i = 0; i < system->count; i++) {
    sum += fabs(system->body[i].position.x) + fabs(system->body[i].position.y) +
           fabs(system->body[i].position.z) + Length(system->body[i].velocity);
  }
  return sum < 1e12;  // false for NaN, too
}

static const char* Run(System* system, const char* method, int steps, double dt) {
  StepFn step = FindMethod(method);
  if (!step) return "unknown method";
  if (system->count == 0) return "no bodies";
  double before = TotalEnergy(system);
  double worst = 0.0;
  for (int s = 0; s < steps; s++) {
    if (!step(system, dt)) return "bodies collide";
    system->time += dt;
    // Sampling the energy costs as much as a step, so do it rarely.
    if (s % 64 == 63) worst = fmax(worst, fabs(TotalEnergy(system) - before));
  }
  if (!IsFinite(system)) return "simulation diverged";
  worst = fmax(worst, fabs(TotalEnergy(system) - before));
  double scale = fabs(before) > 0.0 ? fabs(before) : 1.0;
  printf("run %s: %d steps, energy drift %.4f ppm\n", method, steps, 1e6 * worst / scale);
  return NULL;
}

static bool Within(double v, double limit) { return v >= -limit && v <= limit; }

static const char* AddBody(System* system, const char* line) {
  Body b;
  memset(&b, 0, sizeof(b));
  if (system->count == kMaxBodies) return "too many bodies";
  if (sscanf(line, "%*s %15s %lf %lf %lf %lf %lf %lf %lf", b.name, &b.mass, &b.position.x,
             &b.position.y, &b.position.z, &b.velocity.x, &b.velocity.y, &b.velocity.z) != 8) {
    return "body needs a name and seven numbers";
  }
  if (!(b.mass >= 0.0) || !Within(b.mass, 1000.0)) return "bad mass";
  if (!Within(b.position.x, 1e6) || !Within(b.position.y, 1e6) || !Within(b.position.z, 1e6) ||
      !Within(b.velocity.x, 1e6) || !Within(b.velocity.y, 1e6) || !Within(b.velocity.z, 1e6)) {
    return "bad position or velocity";
  }
  for (int i = 0; i < system->count; i++) {
    if (strcmp(system->body[i].name, b.name) == 0) return "duplicate name";
  }
  system->body[system->count++] = b;
  return NULL;
}

static const char* Execute(System* system, System* initial, const char* line, const char* command) {
  char method[16] = "";
  int steps = 0, per_year = 0;
  double value = 0.0;
  if (strcmp(command, "body") == 0) {
    const char* problem = AddBody(system, line);
    if (!problem) *initial = *system;
    return problem;
  }
  if (strcmp(command, "recenter") == 0) {
    if (!Recenter(system)) return "no mass to centre";
    *initial = *system;
    return NULL;
  }
  if (strcmp(command, "reset") == 0) {
    *system = *initial;
    return NULL;
  }
  if (strcmp(command, "report") == 0) {
    Report(system);
    return NULL;
  }
  if (strcmp(command, "elements") == 0) {
    Elements(system);
    return NULL;
  }
  if (strcmp(command, "run") == 0) {
    if (sscanf(line, "%*s %15s %8d %lf", method, &steps, &value) != 3 || steps < 0 ||
        steps > kMaxSteps || !Within(value, 1.0)) {
      return "run needs a method, a number of steps and a time step";
    }
    return Run(system, method, steps, value);
  }
  if (strcmp(command, "fixed") == 0) {
    if (sscanf(line, "%*s %8d %8d", &steps, &per_year) != 2 || steps < 1 || steps > kMaxSteps ||
        per_year < 1 || per_year > 100000) {
      return "fixed needs steps and steps per year";
    }
    return RunFixed(system, steps, per_year);
  }
  if (strcmp(command, "kepler") == 0) {
    if (sscanf(line, "%*s %lf %8d %15s", &value, &steps, method) != 3 || steps < 1 ||
        steps > kMaxSteps || !(value >= 0.0 && value <= 0.95)) {
      return "kepler needs an eccentricity, steps and a method";
    }
    StepFn step = FindMethod(method);
    return step ? RunKepler(value, steps, step) : "unknown method";
  }
  return "unknown command";
}

int main(void) {
  System system, initial;
  char line[kLineMax], command[16];
  int line_number = 0, errors = 0;
  memset(&system, 0, sizeof(system));
  system.gravity = 4.0 * kPi * kPi;
  initial = system;
  while (fgets(line, sizeof(line), stdin)) {
    line_number++;
    line[strcspn(line, "#\n")] = '\0';
    if (sscanf(line, "%15s", command) != 1) continue;
    const char* problem = Execute(&system, &initial, line, command);
    if (problem) {
      printf("line %d: error: %s\n", line_number, problem);
      errors++;
    }
  }
  printf("%d lines, %d errors, %d bodies\n", line_number, errors, system.count);
  return 0;
}
