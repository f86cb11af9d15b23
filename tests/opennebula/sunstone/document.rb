# SPDX-License-Identifier: Apache-2.0
# document.rb KIND ID: prints oned's document of a VirtualMachine, VirtualNetwork or Template as JSON. (OpenNebula's own commands
# need libraries for that which not every front-end has.)
$LOAD_PATH << '/usr/lib/one/ruby'
require 'json'
require 'opennebula'

kind, id = ARGV
document = OpenNebula.const_get(kind).new_with_id(id.to_i, OpenNebula::Client.new)
answer = document.info
abort answer.message if OpenNebula.is_error?(answer)
puts document.to_hash.values.first.to_json
