// The page of the UI kit (web/kit): every component in each language, theme and size, checked by
// axe, and by the keyboard alone.
import { every } from './forms.mjs'
import { becomes, equal, inspect, until } from './harness.mjs'
import { Keys } from './keyboard.mjs'
import { cramped } from './phone.mjs'

const everywhere = (full) => [...every(full), { language: 'en-US', theme: 'light', size: 'small' }]
const desk = () => [{ language: 'en-US', theme: 'light', size: 'desk' }]

async function enter(page, { language, theme }) {
  await page.goto(`/app/kit.html?lang=${language}&theme=${theme}`)
  await page.locator('canvas').nth(1).waitFor()
}

async function looks(page, config) {
  const found = new Set()
  const look = async (what) => {
    for (const fault of await inspect(page)) found.add(`${what}: ${fault}`)
    for (const fault of await cramped(page, config)) found.add(`${what}: ${fault}`)
    await config.shot(`kit-${what}`)
  }
  const open = async (name, key) => {
    await page.locator(`[data-opens]`).filter({ hasText: name }).press(key)
  }
  await enter(page, config)
  const english = config.language === 'en-US'
  await page.evaluate(() => document.querySelector('#settings').scrollIntoView())
  await look('end')
  await page.evaluate(() => scrollTo(0, 0))
  await look('top')
  await page
    .getByText(english ? 'Show as a table' : '以表格显示')
    .first()
    .click()
  await page.evaluate(() => document.querySelector('#numbers').scrollIntoView())
  await look('numbers')
  await page.evaluate(() => document.querySelector('#list').scrollIntoView())
  const fold = page.getByRole('button', { name: english ? 'Filters' : '筛选' }).first()
  if (config.size !== 'desk') await fold.click()
  await page.getByLabel(english ? 'Status' : '状态', { exact: true }).selectOption('1')
  await look('list')
  await page.getByRole('searchbox').fill('nobody')
  await page
    .getByRole('heading', { name: english ? 'Nobody found' : '没有找到用户' })
    .nth(1)
    .waitFor()
  await look('none')
  await page.getByRole('button', { name: english ? 'Actions' : '操作', exact: true }).click()
  await open(english ? 'Share' : '分享', 'ArrowRight')
  await open(english ? 'More' : '更多', 'ArrowRight')
  await page.getByRole('menu', { name: english ? 'More' : '更多' }).waitFor()
  await look('menu')
  for (const _ of [1, 2, 3]) await page.keyboard.press('Escape')
  await page.getByText(english ? 'Options' : '选项', { exact: true }).click()
  await page
    .getByRole('radio', { name: english ? 'Pick a time' : '指定时间', exact: true })
    .last()
    .check()
  await page.getByLabel(english ? 'Expires at' : '失效时间').waitFor()
  await page.getByRole('button', { name: english ? 'Copy: Link' : '复制: 链接' }).click()
  await page.getByRole('img', { name: english ? 'QR code' : '二维码' }).scrollIntoViewIfNeeded()
  await look('share')
  await page.getByLabel(english ? 'Name of the site' : '站点名称').fill('Pantry')
  await look('unsaved')
  await page.getByRole('button', { name: english ? 'Open the drawer' : '打开侧边栏' }).click()
  await page.getByRole('dialog').waitFor()
  await look('drawer')
  equal('what is wrong', [...found], [])
}

// Without colours, each state still has a mark: the page is checked, and the picture is looked at.
async function plain(page, config) {
  await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' })
  await enter(page, config)
  equal('the faults in forced colours', await inspect(page), [])
  await config.shot('kit-forced')
  const moves = await page.evaluate(() =>
    [...document.querySelectorAll('*')]
      .filter((element) => parseFloat(getComputedStyle(element).transitionDuration) > 0)
      .map((element) => element.className),
  )
  equal('what moves in spite of reduced motion', moves, [])
}

// On a phone the sheet of a submenu replaces that of its menu, until the submenu is closed.
async function sheets(page, config) {
  await enter(page, config)
  const menu = page.getByRole('menu', { name: 'Actions', exact: true })
  const submenu = page.getByRole('menu', { name: 'Share', exact: true })
  const share = page.getByRole('menuitem', { name: 'Share', exact: true })
  const open = () => page.locator(':popover-open').count()
  await page.getByRole('button', { name: 'Actions', exact: true }).tap()
  await share.tap()
  await submenu.getByRole('menuitem', { name: 'Password' }).waitFor()
  equal('whether the sheet of the menu is visible', await menu.locator('> .items').isVisible(), false)
  await config.shot('kit-submenu')
  await page.touchscreen.tap(190, 40)
  await becomes('the open menus', open, 1)
  await becomes('whether the item has the focus', () => share.evaluate((one) => one === document.activeElement), true)
  await page.touchscreen.tap(190, 40)
  await becomes('the open menus', open, 0)
  await becomes('the focus', () => page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Actions')
}

const chosen = (k, what) =>
  until(`the choice of ${what}`, () => k.page.getByText(`Chosen: ${what}`, { exact: true }).isVisible(), 5000)
const table = (k) => k.page.getByRole('table', { name: 'Users' })
const cell = (k, row) => table(k).locator('tbody tr').nth(row).locator('td').first().innerText()
const rows = (k, want) => until(`${want} first in the table`, async () => (await cell(k, 0)).trim() === want, 5000)

const scripts = {
  async 'menu and submenus'(k) {
    await k.to('Actions')
    await k.press('Enter')
    await k.at('Open')
    await k.press('ArrowDown')
    await k.at('Share')
    await k.press('ArrowRight')
    await k.at('Link')
    await k.press('End')
    await k.at('More')
    await k.press('ArrowRight')
    await k.at('First')
    await k.press('ArrowLeft')
    await k.at('More')
    await k.press('Escape')
    await k.at('Share')
    await k.press('Enter', 'ArrowDown')
    await k.at('Password')
    await k.press('Enter')
    await k.at('Actions')
    await chosen(k, 'Password')
    await becomes('the open menus', () => k.page.locator(':popover-open').count(), 0)
    await k.press('Enter', 's', 'h')
    await k.at('Share')
    await k.press('ArrowRight', 'ArrowRight', 'End', 'ArrowRight', 'ArrowDown', 'Space')
    await k.at('Actions')
    await chosen(k, 'Second')
    await k.press('Enter', 'ArrowUp', 'ArrowUp')
    await k.at('Size')
    await k.press('Space', 'Enter', 'ArrowUp', 'ArrowUp')
    await becomes('the checked item', () => k.page.locator('[aria-checked=true]').innerText(), 'Size')
    await k.press('Escape')
    await k.at('Actions')
  },
  async 'the mouse opens a submenu'(k) {
    await k.page.getByRole('button', { name: 'Actions', exact: true }).click()
    await k.page.getByRole('menuitem', { name: 'Share' }).hover()
    await k.page.getByRole('menuitem', { name: 'QR code' }).hover()
    await k.page.getByRole('menuitem', { name: 'More' }).hover()
    await k.page.getByRole('menuitem', { name: 'Second' }).click()
    await chosen(k, 'Second')
    await k.page.getByRole('button', { name: 'Actions', exact: true }).click()
    await k.page.getByRole('menuitem', { name: 'Share' }).hover()
    await k.page.getByRole('menuitem', { name: 'QR code' }).waitFor()
    await k.page.getByRole('menuitem', { name: 'Delete' }).hover()
    await k.page.getByRole('menuitem', { name: 'QR code' }).waitFor({ state: 'detached' })
    await k.page.keyboard.press('Escape')
  },
  async 'a drawer keeps the focus and returns it'(k) {
    await k.to('Open the drawer')
    await k.press('Enter')
    await k.at('Name')
    const seen = []
    for (let n = 0; n < 12; n++) {
      // the browser's own controls are between the last and the first element: there the body has
      // it
      await k.page.keyboard.press('Tab')
      seen.push(
        await k.page.evaluate(
          () => document.activeElement === document.body || !!document.activeElement.closest('dialog'),
        ),
      )
    }
    equal('whether the focus stays', seen.includes(false), false)
    await k.press('Escape')
    await k.at('Open the drawer')
    await k.press('Enter')
    await k.at('Name')
    await k.press('Enter')
    await k.at('Open the drawer')
    await becomes('the open drawers', () => k.page.getByRole('dialog').count(), 0)
  },
  async 'sort a table'(k) {
    const sorted = () =>
      table(k)
        .locator('th')
        .evaluateAll((heads) => heads.map((head) => head.getAttribute('aria-sort')))
    equal('the order', await sorted(), ['ascending', null, null, null, null, null])
    await rows(k, 'ann')
    await k.to('Name', 'Tab')
    await k.to('Used')
    await k.press('Enter')
    await k.at('Used')
    equal('the order', await sorted(), [null, null, null, 'ascending', null, null])
    await rows(k, 'ann')
    await k.press('Space')
    await rows(k, 'ned3')
    equal('the order', await sorted(), [null, null, null, 'descending', null, null])
  },
  async 'turn pages'(k) {
    const now = () => k.page.getByRole('navigation', { name: 'Users' }).locator('[aria-current]').innerText()
    await k.to('Previous')
    await k.press('Enter')
    equal('the page', await now(), '1')
    await k.to('Next')
    await k.press('Enter')
    await k.at('Next')
    equal('the page', await now(), '2')
    await k.page.getByText('7–12 of 56').waitFor()
    await k.to('Page 10', 'Shift+Tab')
    await k.press('Enter')
    equal('the page', await now(), '10')
    await k.page.getByText('55–56 of 56').waitFor()
    await k.to('Next')
    await k.press('Enter')
    equal('the page', await now(), '10')
    const cursor = k.page.getByRole('navigation', { name: 'Pages of a cursor' })
    await k.to('Previous')
    await k.to('Next')
    await k.press('Enter', 'Enter', 'Enter')
    await cursor.getByText('Page 3').waitFor()
    await k.at('Next')
  },
  async 'filter a list'(k) {
    await k.to('Find a user')
    await k.page.keyboard.type('li')
    await k.page.getByText('4 users').waitFor()
    await k.at('Find a user')
    await k.press('Tab')
    await k.at('Role')
    await k.press('ArrowDown')
    await k.page.getByText('1 user', { exact: true }).waitFor()
    await k.to('Clear filters')
    await k.press('Enter')
    await k.at('Find a user')
    await k.page.getByText('56 users').waitFor()
    await becomes('the search', () => k.page.getByRole('searchbox').inputValue(), '')
    await k.page.keyboard.type('lin2')
    await k.page.getByText('1 user', { exact: true }).waitFor()
    await k.page.keyboard.press('Escape') // the browser clears a search field
    await k.page.getByText('56 users').waitFor()
  },
  async 'a switch, a password, a choice'(k) {
    await k.to('Visitors may browse')
    const state = () => k.page.evaluate(() => document.activeElement.checked)
    equal('the switch', await state(), true)
    await k.press('Space')
    equal('the switch', await state(), false)
    await k.to('Show password', 'Shift+Tab')
    await k.press('Enter')
    await k.at('Hide password')
    await becomes('the type', () => k.page.getByLabel('Password', { exact: true }).getAttribute('type'), 'text')
    await k.to('Never')
    await k.press('ArrowRight')
    await k.at('In 30 days')
    equal('the choice', await state(), true)
  },
  async 'save or discard'(k) {
    await k.to('Name of the site')
    await k.type('Pantry')
    await k.page.getByText('You have unsaved changes').waitFor()
    await k.to('Discard')
    await k.page.keyboard.press('Enter')
    await becomes('the name', () => k.page.getByLabel('Name of the site').inputValue(), 'Larder')
    await k.page.getByText('You have unsaved changes').waitFor({ state: 'detached' })
    await k.page.getByLabel('Name of the site').focus()
    await k.type('Pantry')
    await k.press('Tab', 'Tab')
    await k.at('Save')
    await k.page.keyboard.press('Enter')
    await k.page.getByText('You have unsaved changes').waitFor({ state: 'detached' })
    await becomes('the name', () => k.page.getByLabel('Name of the site').inputValue(), 'Pantry')
  },
  async 'the table of a chart'(k) {
    await k.to('Show as a table')
    await k.press('Enter', 'Tab')
    await k.at('Requests by hour')
    await becomes('the rows', () => k.page.locator('figure').first().locator('tbody tr').count(), 24)
    await becomes(
      'the missing value',
      () => k.page.locator('figure').first().locator('tbody tr').nth(7).locator('td').nth(1).innerText(),
      '–',
    )
  },
}

async function byKeys(page, config) {
  const failed = []
  for (const [name, script] of Object.entries(scripts)) {
    await enter(page, config)
    await script(new Keys(page, config, '')).catch((error) => failed.push(`${name}: ${error.message}`))
  }
  equal('what cannot be done', failed, [])
}

export const scenarios = [
  { name: 'the kit looks right', forms: everywhere, run: looks },
  { name: 'the kit without colours', forms: desk, run: plain },
  { name: 'the kit by the keyboard alone', forms: desk, run: byKeys },
  {
    name: 'submenus of the kit are sheets',
    forms: () => [{ language: 'en-US', theme: 'light', size: 'phone' }],
    run: sheets,
  },
]
