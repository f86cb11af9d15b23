// SPDX-License-Identifier: Apache-2.0
// The front-end that was given, as this suite's overlays show it: emptied of what it held, oneib installed into it, with a
// host and datastores of OpenNebula's dummy drivers, on which VMs run at once and do nothing.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

export const PLACE = '/mnt'
const HOME = `${PLACE}/home`
const PROJECT = resolve(import.meta.dirname, '../../..')
const { ONE_LOCATION: LOCATION, BUILD, PREFIX_OF_BUILD: PREFIX } = process.env
const VAR = LOCATION ? `${LOCATION}/var` : '/var/lib/one'
const ETC = LOCATION ? `${LOCATION}/etc` : '/etc/one'
const BIN = LOCATION ? `${LOCATION}/bin` : '/usr/bin'
const LIB = LOCATION ? `${LOCATION}/lib` : '/usr/lib/one'
const LOGS = LOCATION ? VAR : '/var/log/one'

const ENVIRONMENT = {
  PATH: `${BIN}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
  HOME,
  LANG: 'C.UTF-8',
  ONE_AUTH: `${HOME}/.one/one_auth`,
  ...(LOCATION && { ONE_LOCATION: LOCATION, RUBYLIB: `${LIB}/ruby` }),
}

// What the command prints; what it complains of is the error's.
export function command(...words) {
  try {
    return execFileSync(words[0], words.slice(1), { env: ENVIRONMENT, cwd: HOME, encoding: 'utf8', stdio: 'pipe' })
  } catch (error) {
    throw new Error(`${words.join(' ')}: ${error.stdout}${error.stderr}`)
  }
}

export const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds))

// Until it returns something and raises nothing.
export async function eventually(what, seconds, attempt) {
  const end = Date.now() + seconds * 1000
  for (let reason = 'nothing said why'; ; ) {
    try {
      const result = await attempt()
      if (result) return result
    } catch (error) {
      reason = error.message
    }
    if (Date.now() > end) throw new Error(`not within ${seconds} s: ${what} (${reason})`)
    await pause(200)
  }
}

// A file with that text, for a command.
export function file(text) {
  writeFileSync(`${PLACE}/text`, text)
  return `${PLACE}/text`
}

function empty() {
  for (const name of ['.one', 'vms', 'oned.pid', 'oneflow.pid', '.oneflow.lock', ...readdirSync(VAR).filter((one) => one.startsWith('one.db'))])
    rmSync(`${VAR}/${name}`, { recursive: true, force: true })
  for (const name of ['vms', 'lock', 'run', 'datastores/0', 'datastores/1']) mkdirSync(`${VAR}/${name}`, { recursive: true })
  if (!LOCATION) for (const name of ['/var/log/one', '/run/one', '/run/lock/one']) mkdirSync(name, { recursive: true })
  mkdirSync(`${HOME}/.one`, { recursive: true })
  writeFileSync(`${HOME}/.one/one_auth`, 'oneadmin:password\n', { mode: 0o600 })
}

function configure() {
  command(`${PROJECT}/install.sh`, '--frontend', '--build', BUILD, '--prefix', PREFIX)
  let oned = readFileSync(`${ETC}/oned.conf`, 'utf8')
  // Drivers that no host here has would only be waited for.
  oned = oned.replace(/^VM_MAD = \[[^\]]*NAME *= *"(qemu|lxc)"[^\]]*\]/gm, '')
  for (const [name, value] of [['SCHED_MAX_WND_TIME', 1], ['SCHED_RETRY_TIME', 2], ['MAX_ACTIONS_PER_HOST', 8]])
    oned = oned.replace(new RegExp(`^${name} *=.*`, 'm'), `${name} = ${value}`)
  oned += 'VM_MAD = [ NAME = "dummy", SUNSTONE_NAME = "Testing", EXECUTABLE = "one_vmm_dummy", TYPE = "xml" ]\n'
  writeFileSync(`${ETC}/oned.conf`, oned)
  appendFileSync(
    `${ETC}/monitord.conf`,
    'IM_MAD = [ NAME = "dummy", SUNSTONE_NAME = "Dummy", EXECUTABLE = "one_im_sh", ARGUMENTS = "-r 3 -t 15 -w 90 dummy", THREADS = 0 ]\n'
  )
}

function start(name, ...words) {
  const log = openSync(`${PLACE}/${name}.out`, 'a')
  return spawn(words[0], words.slice(1), { env: ENVIRONMENT, cwd: HOME, stdio: ['ignore', log, log] })
}

// It gives up when one of its drivers takes more than some seconds to start, as on a machine that has much to do, and may
// hang then.
async function startOned() {
  let oned
  const again = () => {
    oned?.kill('SIGKILL')
    rmSync(`${LOGS}/oned.log`, { force: true })
    oned = start('oned', `${BIN}/oned`, '-f')
  }
  again()
  await eventually('oned answers', 300, () => {
    if (oned.exitCode !== null || log('oned').includes('finalized, exiting')) again()
    return log('oned').includes('Request Manager started') && command('oneuser', 'show', '0')
  })
}

function log(name) {
  const path = `${LOGS}/${name}.log`
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

async function run() {
  await startOned()
  await eventually('oned has made the sessions of its servers', 10, () => existsSync(`${VAR}/.one/sunstone_auth`))
  // OneFlow asks for treetop's version, which Ruby knows of gems alone, and Debian's is one only when it is called so.
  writeFileSync(`${PLACE}/treetop.rb`, "begin\n  gem 'treetop'\nrescue LoadError\nend\n")
  start('oneflow', 'ruby', '-r', `${PLACE}/treetop.rb`, `${LIB}/oneflow/oneflow-server.rb`)
  start('fireedge', 'node', `${LIB}/fireedge/dist/index.js`)
  await eventually('OneFlow answers', 60, () => command('oneflow-template', 'list'))
  await eventually('Sunstone answers', 60, async () => (await fetch('http://127.0.0.1:2616/fireedge/sunstone')).ok)
}

async function addHost(name) {
  const host = command('onehost', 'create', name, '-i', 'dummy', '-v', 'dummy').match(/ID: (\d+)/)[1]
  await eventually(`host ${name} is monitored`, 60, () => / : MONITORED/.test(command('onehost', 'show', host)))
  // What oneibd and the probe would write.
  command('onehost', 'update', host, file('IB_VFS_FREE = "7"\nIB_SWITCH = "leaf1"\n'), '--append')
}

async function furnish() {
  for (const id of ['0', '1']) command('onedatastore', 'update', id, file('TM_MAD = "dummy"\nDS_MAD = "dummy"\n'))
  for (const name of ['node1', 'node2']) await addHost(name)
  command('onevnet', 'create', file(
    'NAME = "office"\nVN_MAD = "dummy"\nBRIDGE = "br0"\nAR = [ TYPE = "IP4", IP = "192.168.50.10", SIZE = "200" ]\n'))
  command('onevnet', 'chmod', 'office', '604')
  command('oneimage', 'create', '--name', 'debian-ib', '--source', '/none', '--size', '2048', '--format', 'raw',
    '--datastore', 'default', '--no_check_capacity')
  command('oneimage', 'chmod', 'debian-ib', '604')
  command('oneuser', 'create', 'alice', 'password')
  command('oneuser', 'update', 'alice', file('SSH_PUBLIC_KEY = "ssh-ed25519 AAAA alice@home"\n'), '--append')
  command(`${PREFIX}/share/oneib/templates/load`, '--image', 'debian-ib', '--access', 'office', '--onegate', 'no')
}

export function version() {
  return command('oned', '-v').match(/OpenNebula ([\d.]+)/)[1]
}

export async function setUp() {
  empty()
  configure()
  await run()
  await furnish()
}

// Which tabs users have in Sunstone.
export function sunstoneTabs(...options) {
  return command(`${PREFIX}/share/oneib/install/sunstone-tabs`, ...options)
}

// oneib's output, whatever its exit status.
export function oneib(...words) {
  return spawnSync(`${BUILD}/oneib/oneib`, words, { env: ENVIRONMENT, encoding: 'utf8' }).stdout
}

// Files that tell why something went wrong.
export function logs() {
  const outputs = readdirSync(PLACE).filter((name) => name.endsWith('.out')).map((name) => `${PLACE}/${name}`)
  return [...outputs, ...readdirSync(LOGS).filter((name) => name.endsWith('.log')).map((name) => `${LOGS}/${name}`)]
}
