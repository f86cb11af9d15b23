// SPDX-License-Identifier: Apache-2.0
// Started by ./run, as root, in namespaces of its own: the steps of docs/user.md, one after the other.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { PLACE, logs, setUp, version } from './front_end.mjs'
import { openBrowser } from './sunstone.mjs'
import { steps } from './steps.mjs'

const LOGS = `${process.env.BUILD}/sunstone-logs`

function saveLogs() {
  rmSync(LOGS, { recursive: true, force: true })
  mkdirSync(LOGS, { recursive: true })
  for (const path of [...logs(), ...readdirSync(`${PLACE}/pictures`).map((name) => `${PLACE}/pictures/${name}`)])
    copyFileSync(path, `${LOGS}/${path.split('/').pop()}`)
  console.log(`Logs and pictures are in ${LOGS}`)
}

function leavePictures(directory) {
  mkdirSync(directory, { recursive: true })
  for (const name of readdirSync(`${PLACE}/pictures`).filter((one) => !one.startsWith('failed'))) {
    const picture = `${PLACE}/pictures/${name}`
    execFileSync('pngquant', ['--force', '--speed', '1', '--strip', '--output', picture, '64', picture])
    execFileSync('optipng', ['-quiet', '-o5', picture])
    copyFileSync(picture, `${directory}/${name}`)
  }
}

// Whether it has passed.
async function run({ name, body, world }) {
  console.log(`[ RUN      ] ${name}`)
  const began = Date.now()
  let failure
  try {
    await body(world)
  } catch (error) {
    failure = error
    console.log(`    ${error.stack.split('\n').slice(0, 12).join('\n    ')}`)
    await world.sunstone?.picture(`failed-${name.replace(/\W+/g, '-')}`).catch(() => {})
  }
  console.log(`    ${((Date.now() - began) / 1000).toFixed(1)} s`)
  console.log(`${failure ? '[  FAILED  ]' : '[       OK ]'} ${name}`)
  return !failure
}

async function main() {
  let failed = 0
  try {
    await setUp()
    console.log(`OpenNebula ${version()}, with Sunstone`)
    const world = { browser: await openBrowser() }
    for (const [name, body] of steps) if (!(await run({ name, body, world }))) failed++
    await world.browser.close()
  } finally {
    saveLogs()
  }
  if (process.env.PICTURES && failed === 0) leavePictures(process.env.PICTURES)
  console.log(`${steps.length - failed} passed, ${failed} failed`)
  if (process.argv.includes('--keep')) await new Promise((done) => process.stdin.once('data', done))
  process.exit(failed ? 1 : 0)
}

await main()
