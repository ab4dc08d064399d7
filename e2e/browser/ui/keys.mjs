// API keys: created for a purpose, shown once with a configuration for each client, tested by an
// upload.
import { everyWith, few } from './forms.mjs'
import { becomes, equal, inspect } from './harness.mjs'
import { labels, signInAt } from './labels.mjs'

async function enter(page, config) {
  const say = labels[config.language]
  await signInAt(page, config, '/app/keys')
  await page.getByRole('heading', { level: 1, name: say.keys }).waitFor()
}

async function looks(page, config) {
  const say = labels[config.language]
  await enter(page, config)
  equal('faults of the list', await inspect(page), [])
  await config.shot('keys')
  await page.getByRole('button', { name: say.newKey }).first().click()
  await page.getByRole('dialog', { name: say.newKeyTitle }).waitFor()
  equal('faults of the form', await inspect(page), [])
  await config.shot('keys-new')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  equal('the focus after the dialog', await page.evaluate(() => document.activeElement.tagName), 'BUTTON')
}

// makeKey creates a key for PicGo and tests it, on the screen of keys.
export async function makeKey(page, config) {
  const say = labels[config.language]
  await page.getByRole('button', { name: say.newKey }).first().click()
  const form = page.getByRole('dialog', { name: say.newKeyTitle })
  await form.getByRole('radio', { name: say.imageClient }).check()
  await form.getByLabel(say.keyName, { exact: true }).fill(`desk ${config.language}`)
  await form.getByRole('button', { name: say.createKey }).click()
  const sheet = page.getByRole('dialog', { name: say.saveNow })
  await sheet.waitFor()
  equal('faults of the sheet', await inspect(page), [])
  const token = await sheet.getByLabel(say.token, { exact: true }).inputValue()
  equal('the form of the token', /^pk_[0-9A-Za-z]{24}\.sk_[0-9A-Za-z]{48}$/.test(token), true)
  await sheet.getByRole('tab', { name: 'PicGo' }).click()
  const picgo = JSON.parse(await sheet.getByRole('textbox', { name: say.configuration }).inputValue())
  equal('the address for PicGo', JSON.stringify(picgo).includes(`${config.base}/api/upload`), true)
  equal('the token for PicGo', JSON.stringify(picgo).includes(token), true)
  await sheet.getByRole('button', { name: say.testPicture }).click()
  await sheet.getByText(say.works).waitFor()
  const width = await sheet
    .getByRole('img', { name: say.sentPicture })
    .evaluate((image) => image.decode().then(() => image.naturalWidth))
  if (!(width > 0)) throw new Error('the test picture is not shown')
  const seen = await sheet.getByRole('img', { name: say.sentPicture }).evaluate((image) => {
    const { x, y, width, height } = image.getBoundingClientRect()
    return document.elementFromPoint(x + width / 2, y + height - 4) === image
  })
  equal('whether the test picture is in sight', seen, true)
  equal('faults with the test picture', await inspect(page), [])
  await config.shot('keys-made')
  await sheet.getByLabel(say.haveSaved).check()
  // another replica answers, which knows of no use yet
  await page.route('**/api/keys/', async (route) => {
    const answer = await route.fetch()
    const json = await answer.json()
    for (const key of json.data.keys) key.lastUsedAt = null
    await route.fulfill({ response: answer, json })
  })
  await sheet.getByRole('button', { name: say.close, exact: true }).click()
  const key = page.getByRole('article', { name: `desk ${config.language}` }).first()
  await key.waitFor()
  await becomes('whether the key has never been used', () => key.getByText(say.never, { exact: true }).count(), 0)
  await page.unrouteAll({ behavior: 'wait' })
}

async function makes(page, config) {
  await enter(page, config)
  await makeKey(page, config)
}

export const scenarios = [
  { name: 'the keys look right', forms: everyWith('narrow', 'medium', 'wide'), run: looks },
  { name: 'makes a key and tries it', forms: few, run: makes },
]
