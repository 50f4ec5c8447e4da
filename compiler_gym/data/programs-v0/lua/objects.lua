-- Inheritance, coroutines, sorting by metamethods, formatted floats, and errors that are caught.
local Shape = {}
Shape.__index = Shape
function Shape.new(class, fields) return setmetatable(fields, class) end
function Shape.area() error("a shape has no area", 0) end

local function subclass(area)
  local class = setmetatable({area = area}, {__index = Shape})
  class.__index = class
  class.__lt = function(a, b) return a:area() < b:area() end
  return class
end

local Circle = subclass(function(self) return math.pi * self.radius ^ 2 end)
local Box = subclass(function(self) return self.width * self.height end)
Circle.__lt = Box.__lt

local function shapes(n)
  return coroutine.wrap(function()
    local state = 12345
    for i = 1, n do
      state = (state * 1103515245 + 12345) % 2147483648
      if state % 3 == 0 then
        coroutine.yield(Shape.new(Circle, {radius = state % 97 / 10}))
      else
        coroutine.yield(Shape.new(Box, {width = state % 31, height = state % 17}))
      end
    end
  end)
end

local all = {}
for shape in shapes(3000) do all[#all + 1] = shape end
table.sort(all)
local sum = 0
for _, shape in ipairs(all) do sum = sum + shape:area() end
print(#all, string.format("%.6f %.6f %.6f", all[1]:area(), all[#all]:area(), sum))
print(pcall(Shape.area))
print(string.rep("ab", 5, "-"), ("%q"):format("line\nbreak"), 7 // 2, -7 % 3, 1e15, 2^53)
for key, value in string.gmatch(io.read("a"), "(%w+)=(%w+)") do io.write(key, " is ", value, "\n") end
