-- Queens on a board, words by frequency, a sieve, and big numbers: loops, tables, strings, closures.
local function queens(n)
  local count, columns, up, down = 0, {}, {}, {}
  local function place(row)
    if row > n then count = count + 1; return end
    for column = 1, n do
      local u, d = row + column, row - column + n
      if not (columns[column] or up[u] or down[d]) then
        columns[column], up[u], down[d] = true, true, true
        place(row + 1)
        columns[column], up[u], down[d] = nil, nil, nil
      end
    end
  end
  place(1)
  return count
end

local function primes(limit)
  local composite, found = {}, {}
  for i = 2, limit do
    if not composite[i] then
      found[#found + 1] = i
      for j = i * i, limit, i do composite[j] = true end
    end
  end
  return found
end

local function factorial(n)
  local digits = {1}
  for factor = 2, n do
    local carry = 0
    for i = 1, #digits do
      local value = digits[i] * factor + carry
      digits[i], carry = value % 10, value // 10
    end
    while carry > 0 do
      digits[#digits + 1], carry = carry % 10, carry // 10
    end
  end
  return table.concat(digits):reverse()
end

local function frequencies(text)
  local counts, words = {}, {}
  for word in text:lower():gmatch("%a+") do
    if not counts[word] then words[#words + 1] = word end
    counts[word] = (counts[word] or 0) + 1
  end
  table.sort(words, function(a, b)
    if counts[a] ~= counts[b] then return counts[a] > counts[b] end
    return a < b
  end)
  local lines = {}
  for i = 1, math.min(12, #words) do
    lines[i] = string.format("%-10s %3d", words[i], counts[words[i]])
  end
  return table.concat(lines, "\n")
end

print("queens", queens(7))
local found = primes(20000)
print("primes", #found, found[#found])
print("60!", factorial(60))
print(frequencies(io.read("a")))
