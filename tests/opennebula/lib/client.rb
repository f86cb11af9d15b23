# SPDX-License-Identifier: Apache-2.0
# oned's XML-RPC, as a user calls it: nothing of OpenNebula's own libraries in between.
require 'net/http'
require 'rexml/document'

# oned's answers are escaped documents: every bracket is an entity.
REXML::Security.entity_expansion_text_limit = 1 << 26
REXML::Security.entity_expansion_limit = 1 << 26

class Refused < StandardError
end

class Client
  attr_reader :session

  def initialize(session, port = 2633)
    @session = session
    @uri = URI("http://127.0.0.1:#{port}/RPC2")
  end

  # The second element of oned's answer: a number or a document's text.
  def call(method, *arguments)
    answer = post("<?xml version='1.0'?><methodCall><methodName>one.#{method}</methodName><params>" +
                  [@session, *arguments].map { |value| "<param><value>#{encode(value)}</value></param>" }.join +
                  '</params></methodCall>')
    document = REXML::Document.new(answer)
    fault = document.elements['//fault']
    raise Refused, fault.elements['.//string'].text if fault

    values = document.elements.to_a('//array/data/value')
    raise Refused, text_of(values[1]) unless text_of(values[0]) == '1'

    text_of(values[1])
  end

  def document(method, *arguments)
    REXML::Document.new(call(method, *arguments)).root
  end

  private

  def post(body)
    Net::HTTP.start(@uri.host, @uri.port, read_timeout: 60) do |http|
      http.post(@uri.path, body, 'Content-Type' => 'text/xml').body
    end
  end

  def encode(value)
    case value
    when Integer then "<i4>#{value}</i4>"
    when true, false then "<boolean>#{value ? 1 : 0}</boolean>"
    else "<string>#{value.to_s.gsub('&', '&amp;').gsub('<', '&lt;').gsub('>', '&gt;')}</string>"
    end
  end

  def text_of(value)
    typed = value.elements[1]
    (typed ? typed.texts.map(&:value).join : value.text).to_s
  end
end
