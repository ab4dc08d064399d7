// Narrow screens, touch and large text: no sideways scrolling, no targets that are too small, cut
// off, covered or too near to each other.
import { small } from './forms.mjs'
import { enter } from './files.mjs'
import { near } from './gaps.mjs'
import { equal, isPhone } from './harness.mjs'
import { labels, signIn } from './labels.mjs'
import { walk } from './panels.mjs'

// cramped reports whether the page scrolls sideways, and which targets of the topmost layer are too
// small, cut off or covered, or on a phone less than 8 px apart. Every target needs 24 px, buttons
// and fields need `most` px. With 0, the default in windows of a desktop, targets are not checked.
// In a full run, the page of a phone is checked with large text, too.
export async function cramped(page, { size, full }, most = isPhone(size) ? 44 : 0) {
  const found = await misfits(page, most)
  if (isPhone(size)) found.push(...(await near(page)))
  if (!full || size !== 'phone') return found
  await enlarge(page)
  found.push(...(await misfits(page, most)).map((fault) => `with large text: ${fault}`))
  await reduce(page)
  return found
}

function misfits(page, most) {
  return page.evaluate((most) => {
    const found = []
    const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth
    if (wide > 0) found.push(`the page scrolls sideways by ${wide} px`)
    if (most === 0) return found
    const top = [...document.querySelectorAll('dialog:modal, :popover-open')].at(-1) ?? document
    const name = (element) =>
      `${element.tagName.toLowerCase()} "${(element.getAttribute('aria-label') ?? element.title) || element.textContent.trim().slice(0, 40) || element.id}"`
    const layer = (element) => element.closest('dialog, [popover], nav, [role=toolbar], header, section') ?? document
    // scroller is the nearest scrolling ancestor, if any.
    const scroller = (element) =>
      !element || element === document.body
        ? undefined
        : /auto|scroll/.test(getComputedStyle(element).overflow)
          ? element
          : scroller(element.parentElement)
    const clip = (element) =>
      !element || element === document.body
        ? undefined
        : getComputedStyle(element).overflowX !== 'visible'
          ? element
          : clip(element.parentElement)
    for (const element of top.querySelectorAll('a[href], button, input, select, textarea, summary, [role=treeitem]')) {
      const mark = element.matches('input[type=checkbox], input[type=radio]')
      const box = ((mark && element.closest('label')) || element).getBoundingClientRect()
      if (!element.checkVisibility({ visibilityProperty: true }) || box.bottom < 0) continue
      if (element.closest('.skip, .strip')) continue // the filmstrip cuts the pictures at its ends
      const inText = element.tagName === 'A' && getComputedStyle(element).display === 'inline'
      const least = element.matches('[data-more], [data-check] *, [role=grid] a') || inText ? 24 : most
      if (!inText && (Math.round(box.height) < least || Math.round(box.width) < Math.min(least, 24)))
        found.push(`${name(element)} is ${Math.round(box.width)} × ${Math.round(box.height)} px, want ${least}`)
      if ((box.left < -1 || box.right > innerWidth + 1) && !scroller(element.parentElement))
        found.push(`${name(element)} is out of the window`)
      const [x, y] = [box.left + box.width / 2, box.top + box.height / 2]
      const hit = document.elementFromPoint(x, y)
      const clipped = clip(element.parentElement)?.getBoundingClientRect()
      if (clipped && (box.left < clipped.left - 1 || box.right > clipped.right + 1))
        found.push(`${name(element)} is cut off`)
      const seen = scroller(element.parentElement)?.getBoundingClientRect()
      if (seen && (x < seen.left || x > seen.right || y < seen.top || y > seen.bottom)) continue
      if (!hit || element.closest('[role=grid]') || layer(hit) !== layer(element)) continue
      const own = (mark && element.closest('label')) || element
      if (!own.contains(hit) && !hit.contains(own)) found.push(`${name(element)} is covered by ${name(hit)}`)
    }
    for (const element of top.querySelectorAll('*')) {
      const { overflowX, overflowY, textOverflow, clipPath } = getComputedStyle(element)
      if (
        /auto|scroll/.test(overflowX) &&
        !element.matches('textarea, pre, input') &&
        element.scrollWidth > element.clientWidth + 1
      )
        found.push(`${name(element)} scrolls sideways`)
      const words = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim())
      if (!words || clipPath !== 'none' || !element.checkVisibility({ visibilityProperty: true })) continue
      if (/hidden|clip/.test(overflowX) && textOverflow !== 'ellipsis' && element.scrollWidth > element.clientWidth + 1)
        found.push(`the words of ${name(element)} are cut off`)
      if (/hidden|clip/.test(overflowY) && element.scrollHeight > element.clientHeight + 3)
        found.push(`the lines of ${name(element)} are cut off`)
    }
    return found
  }, most)
}

// enlarge doubles the size of all text and nothing else, as browsers do that enlarge text only;
// once for each style sheet. reduce undoes it.
export function enlarge(page) {
  return page.evaluate(async () => {
    window.enlarged ??= new Set()
    window.before ??= []
    const twice = (rules) => {
      for (const rule of rules) {
        if (rule.cssRules?.length) twice(rule.cssRules)
        for (const property of rule.style ? ['font-size', 'line-height'] : []) {
          const { style } = rule
          const [value, priority] = [style.getPropertyValue(property), style.getPropertyPriority(property)]
          if (!value.endsWith('px')) continue
          window.before.push(() => style.setProperty(property, value, priority))
          style.setProperty(property, `${parseFloat(value) * 2}px`, priority)
        }
      }
    }
    for (const sheet of document.styleSheets) {
      if (window.enlarged.has(sheet)) continue
      window.enlarged.add(sheet)
      twice(sheet.cssRules)
    }
    await new Promise(requestAnimationFrame)
  })
}

function reduce(page) {
  return page.evaluate(() => {
    for (const undo of window.before) undo()
    delete window.before
    delete window.enlarged
  })
}

async function screens(page, config, look) {
  const say = labels[config.language]
  await page.goto('/')
  await page.getByRole('heading', { level: 1, name: say.signIn }).waitFor()
  await look('sign-in')
  await page.goto('/public/none.jpg')
  await page.getByRole('heading', { level: 1, name: say.notFound }).waitFor()
  await look('not found')
  // panels.mjs runs this walk too
  await (config.full ? walk(page, config, look) : enter(page, config, ''))
  await page.goto('/app/files')
  await page.getByRole('link', { name: say.publicFolder, exact: true }).waitFor()
  await look('root')
  await page.getByRole('button', { name: say.account }).click()
  await look('account')
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: say.pages, exact: true }).click()
  await page.getByRole('menuitem', { name: say.shares }).click()
  await page.getByRole('heading', { level: 1, name: say.shares }).waitFor()
  await look('shares')
  await page.getByRole('button', { name: say.pages, exact: true }).click()
  await look('menu of pages')
  await page.getByRole('menuitem', { name: say.keys }).click()
  await page.getByRole('heading', { level: 1, name: say.keys }).waitFor()
  await look('keys')
  await page.getByRole('button', { name: say.newKey }).first().click()
  await page.getByRole('dialog', { name: say.newKeyTitle }).waitFor()
  await look('new key')
}

// The bar of a user with a long name.
function longName(page) {
  return page.route('**/api/users/me/settings', async (route) => {
    if (route.request().method() !== 'GET') return route.continue()
    const answer = await route.fetch()
    const { data, ...rest } = await answer.json()
    if (!data) return route.fulfill({ response: answer })
    const profile = { ...data.profile, displayName: 'Maximiliane Wolkenstein-Hohenberg' }
    return route.fulfill({ response: answer, json: { ...rest, data: { ...data, profile } } })
  })
}

async function fits(page, config, before) {
  await longName(page)
  const found = new Set()
  await screens(page, config, async (what) => {
    await before?.(page)
    for (const fault of await cramped(page, { ...config, full: config.full && !before })) found.add(`${what}: ${fault}`)
    await config.shot(`phone-${what}`)
  })
  equal('what does not fit', [...found], [])
}

export const scenarios = [
  { name: 'fits a small phone', forms: small, run: (page, config) => fits(page, config) },
  {
    name: 'fits with large text',
    forms: (full) => (full ? small(full).map((form) => ({ ...form, size: 'phone' })) : []),
    run: (page, config) => fits(page, config, enlarge),
  },
]
