#!/usr/bin/env ruby
# SPDX-License-Identifier: Apache-2.0
# Writes invisible_characters.h to standard output, from the Unicode Character Database as Debian's
# package unicode-data has it: ruby invisible_characters.rb [/usr/share/unicode]
directory = ARGV.fetch(0, '/usr/share/unicode')
data = File.foreach("#{directory}/UnicodeData.txt").map { |line| line.split(';') }
core = File.read("#{directory}/DerivedCoreProperties.txt")

# Characters of other categories whose glyph is empty: no property tells of them.
BLANK = [0x2800, 0x13441, 0x13442, 0x16fe4, 0x1d159].freeze

points = data.select { |item| %w[Cc Cf Zl Zp Zs].include?(item[2]) }.map { |item| item[0].hex }
core.scan(/^(\h+)(?:\.\.(\h+))? *; Default_Ignorable_Code_Point/) do |first, last|
  points.concat((first.hex..(last || first).hex).to_a)
end
points = (points + BLANK).uniq.sort.reject { |point| point < 0x80 }

puts '// SPDX-License-Identifier: Apache-2.0',
     "/* Made by invisible_characters.rb from Unicode #{core[/DerivedCoreProperties-([\d.]+)\.txt/, 1]}: beyond ASCII, the general",
     ' * categories Cc, Cf, Zl, Zp and Zs, Default_Ignorable_Code_Point, and characters with an empty',
     ' * glyph. First and last of each range, ascending. */',
     'static const struct {', '    uint32_t first, last;', '} invisible_characters[] = {'
points.slice_when { |a, b| b != a + 1 }.each { |range| puts format('    {0x%04x, 0x%04x},', range.first, range.last) }
puts '};'
