# SPDX-License-Identifier: Apache-2.0
# json_documents.rb make|compare DIRECTORY: makes JSON documents at random, whole and broken, always the same ones; and compares
# how they were read (DIRECTORY/N.json.lines, N.json.outcome) with ruby's own parser.
require 'json'

directory = ARGV.fetch(1)

def make(directory)
  chance = Random.new(6)
  texts = ['', 'a', "x\ty", "é€😀", '"\\/', "\u0001\u001f\u007f", '/SERVICE', '[0]', 'NAME="x"', '\\u0041', ' ' * 50]
  value = lambda do |depth|
    case chance.rand(depth > 5 ? 5 : 8)
    when 0, 1 then texts[chance.rand(texts.size)] + chance.rand(100).to_s
    when 2 then [0, -1, 12_345, 1.5, -2.5e-7, 10**20][chance.rand(6)]
    when 3 then [true, false, nil][chance.rand(3)]
    when 4 then texts[chance.rand(texts.size)]
    when 5, 6 then (0...chance.rand(5)).to_h { |i| [texts[chance.rand(texts.size)] + i.to_s, value[depth + 1]] }
    else (0...chance.rand(5)).map { value[depth + 1] }
    end
  end
  150.times do |i|
    text = i.even? ? JSON.generate(value[0]) : JSON.pretty_generate(value[0], ascii_only: true)
    if i % 3 == 2 && !text.empty?
      at = chance.rand(text.size)
      text[at] = ['', '"', '{', ']', ',', ':', '1', '\\', "\n"][chance.rand(9)]
    end
    File.binwrite(File.join(directory, "#{i}.json"), text)
  end
end

def lines(path, value, out)
  case value
  when Hash then value.each { |k, v| lines("#{path}/#{k.b.gsub(/[\0-\x1f]/n, ' ').tr("\x7f", ' ').gsub(/[^-_A-Za-z0-9]/n) { |c| format('%%%02X', c.ord) }}", v, out) }
  when Array then value.each_with_index { |v, i| lines("#{path}/[#{i}]", v, out) }
  when String then out << [path, value.b.tr("\0-\x1f\x7f", ' ')]
  else out << [path, value]
  end
  out
end

def same?(value, text)
  case value
  when Numeric then Float(text) == value
  when nil then text == 'null'
  else value.to_s.b == text
  end
end

def compare(directory)
  outcomes = Hash.new(0)
  Dir[File.join(directory, '*.json')].each do |file|
    shall = begin
      lines('', JSON.parse(File.read(file, encoding: 'UTF-8')), [])
    rescue JSON::ParserError
      nil
    end
    outcome = File.read("#{file}.outcome").chomp
    # Ruby takes escapes that JSON does not have.
    next if outcome == 'refused' && File.binread(file) =~ %r{\\[^"\\/bfnrtu]}n

    outcomes[outcome] += 1
    abort "#{file}: #{outcome}, ruby: #{shall.inspect}: #{File.read(file)}" if (outcome == 'read') == shall.nil?
    next if shall.nil?

    is = File.binread("#{file}.lines").split("\n", -1)[0..-2].map { |line| line.split("\t", 2) }
    is = [] if is == [['']]
    whole = is.size == shall.size && is.zip(shall).all? { |i, s| i[0] == s[0].b && same?(s[1], i[1]) }
    abort "#{file}: read as #{is.inspect}, not #{shall.inspect}" unless whole
  end
  abort "nothing was compared: #{outcomes}" if outcomes['read'] < 50 || outcomes['refused'] < 10
end

ARGV.fetch(0) == 'make' ? make(directory) : compare(directory)
