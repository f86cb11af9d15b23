// SPDX-License-Identifier: Apache-2.0
// Sunstone in headless Chromium, as a user sees it: what is on the page is waited for, and pressed.
import { createRequire } from 'node:module'
import { writeFileSync } from 'node:fs'
import { PLACE, pause } from './front_end.mjs'

const { chromium } = createRequire(`${process.env.NODE_PATH}/`)('playwright-core')
const ADDRESS = 'http://127.0.0.1:2616/fireedge/sunstone'
const SIZE = { width: 1200, height: 800 }
export const PICTURE_WIDTH = 800

const OPTIONS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage',
  // Else pages have the lowest priority, and stand still on a machine that has much to do.
  '--disable-renderer-backgrounding', '--disable-backgrounding-occluded-windows',
]

export async function openBrowser() {
  return chromium.launch({ executablePath: '/usr/bin/chromium', args: OPTIONS })
}

// A mark that Sunstone's pages have for their own tests.
const mark = (name) => `[data-cy="${name}"]`

export class Sunstone {
  static async login(browser, user) {
    const context = await browser.newContext({ viewport: SIZE, locale: 'en-US' })
    context.setDefaultTimeout(120000)
    const sunstone = new Sunstone(await context.newPage())
    await sunstone.page.goto(ADDRESS)
    await sunstone.fill('login-user', user)
    await sunstone.fill('login-token', 'password')
    await sunstone.button('Sign In Now').click()
    await sunstone.marked('sidebar-user-menu').waitFor()
    return sunstone
  }

  constructor(page) {
    this.page = page
  }

  marked(name) {
    return this.page.locator(mark(name)).last()
  }

  button(name) {
    return this.page.getByRole('button', { name, exact: true }).last()
  }

  text(words) {
    return this.page.getByText(words, { exact: true }).first()
  }

  async fill(name, value) {
    await this.marked(name).fill(value)
  }

  async press(name) {
    await this.marked(name).click()
  }

  // One of its pages, loaded anew, as "virtual-network".
  async open(path) {
    await this.page.goto(`${ADDRESS}/${path}`)
    await this.marked('main-layout').waitFor()
  }

  // What the menu on the left has.
  async menu() {
    await this.page.locator(mark('templates')).hover()
    await this.page.locator(mark('main-menu-item-text')).first().waitFor({ state: 'attached' })
    await pause(1000)
    return this.page.locator(mark('main-menu-item-text')).allTextContents()
  }

  // The panel of the object of that name.
  async panel(path, name) {
    await this.open(path)
    await this.text(name).click({ noWaitAfter: true })
    await this.marked('tab-info').waitFor()
    await pause(1500)
  }

  async next() {
    const stepper = this.marked('stepper-next-button')
    await stepper.click()
    await pause(1500)
  }

  // In the four steps of "Attach NIC".
  async chooseNetwork(network, picture) {
    await this.text('Network mode').waitFor()
    await this.next()
    await this.page.locator('[role=dialog]').getByText(network, { exact: true }).first().click()
    if (picture) await picture()
    await this.next()
    await this.page.locator('[role=dialog]').getByText('Override Network Values IPv4').waitFor()
    await this.next()
    await this.page.locator('[role=dialog]').getByText('Override Network Inbound Traffic QoS').waitFor()
    await this.next()
  }

  // What Sunstone complains of at the bottom, and closes it.
  async complaint() {
    const alert = this.page.locator('.notistack-SnackbarContainer')
    await alert.getByText('[one.').waitFor()
    const words = await alert.innerText()
    await alert.getByRole('button').first().click()
    return words
  }

  // The dialog that is open, as a picture.
  async pictureOfDialog(name) {
    await this.picture(name, await this.page.locator('[role=dialog]').last().boundingBox())
  }

  // Part of the page, as a picture of the guide. Its width is the guide's.
  async picture(name, { x = 0, y = 0, width = SIZE.width - x, height = SIZE.height - y } = {}) {
    await this.page.mouse.move(2, SIZE.height - 2)
    await pause(1500)
    const devtools = await this.page.context().newCDPSession(this.page)
    const { data } = await devtools.send('Page.captureScreenshot', {
      format: 'png',
      clip: { x, y, width, height, scale: PICTURE_WIDTH / width },
    })
    writeFileSync(`${PLACE}/pictures/${name}.png`, Buffer.from(data, 'base64'))
  }

  async close() {
    await this.page.context().close()
  }
}
