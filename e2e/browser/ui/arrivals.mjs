// Uploaded files appear in the folder on the screen while other uploads go on.
import { enter } from './files.mjs'
import { once } from './forms.mjs'
import { becomes, equal, until } from './harness.mjs'
import { labels } from './labels.mjs'
import { folders } from './places.mjs'

const count = 24

// A file finishes every 200 ms of the page's clock: the folder shows the first ones long before the
// last. The selection and the focus stay with their entry when files appear before it.
async function appears(page, config) {
  const say = labels[config.language]
  const parent = `/home/${config.username}`
  await enter(page, config, '')
  await folders(page, parent, ['Arrivals'])
  await page.clock.install()
  await page.goto(`/app/files${parent}/Arrivals`)
  await page.getByText(say.emptyFolder).waitFor()
  const waiting = [] // uploads that wait for their end
  await page.route('**/api/files/upload-complete', (route) => waiting.push(route))
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.getByRole('main').getByRole('button', { name: say.upload, exact: true }).first().click(),
  ])
  const name = (n) => `leaf ${String(n).padStart(2, '0')}.txt`
  // the last name arrives first
  await chooser.setFiles(
    Array.from({ length: count }, (_, n) => ({
      name: name(count - n),
      mimeType: 'text/plain',
      buffer: Buffer.from(`leaf ${n}`),
    })),
  )
  const shown = page.getByRole('gridcell')
  let finished = 0
  const finish = async () => {
    await until('the end of an upload', () => waiting.length > 0)
    const route = waiting.shift()
    const answer = page.waitForResponse((one) => one.request() === route.request())
    await route.continue()
    await answer
    finished++
  }
  await until('the first upload', () => waiting.length > 0)
  await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1000))
  while (finished < count && (await shown.count()) === 0) {
    await finish()
    await page.clock.runFor(200)
  }
  await page.clock.resume()
  config.figure('uploads before the first one is on the screen', { finished })
  equal('whether files appear before all have arrived', finished < count, true)
  await becomes('whether the folder is called empty', () => page.getByText(say.emptyFolder).count(), 0)

  // one look at the page: the cell of an entry changes whenever files arrive
  const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? '')
  await until('the files that have arrived', async () => (await shown.count()) === finished)
  // the last one so far: under load the uploads end in another order
  const chosen = /^leaf \d+\.txt/.exec(await shown.last().getAttribute('aria-label'))[0]
  const last = page.getByRole('gridcell', { name: chosen })
  await last.click()
  const before = await shown.count()
  while (finished < count && (await shown.count()) === before) await finish()
  await becomes('whether the file is selected', () => last.getAttribute('aria-selected'), 'true')
  const label = await focused()
  equal(`whether the focus is on it, not on ${label}`, label.includes(chosen), true)
  while (finished < count) await finish()
  await until('all files', async () => (await shown.count()) === count)
  await becomes('the selected files', () => page.locator('[aria-selected=true] a').allTextContents(), [chosen])
}

export const scenarios = [{ name: 'shows uploads as they finish', forms: once, run: appears }]
