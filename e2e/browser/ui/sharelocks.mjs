// Passwords of shares: two for one file, and too many wrong ones.
import { createFolder, enter } from './files.mjs'
import { once } from './forms.mjs'
import { becomes, equal, until } from './harness.mjs'
import { signInAt } from './labels.mjs'
import { arrived, done, lock, look, notes, pictures, share, stranger } from './stranger.mjs'

const another = 'That password is correct, but another one is needed too.'
const wrong = 'Wrong password.'
const content = 'a few words for a friend'

// give enters a password in the only form of the page.
async function give(guest, password) {
  await guest.locator('input[type=password]').fill(password)
  await guest.keyboard.press('Enter')
}

// asksForAnother waits until the form asks for the second password: it is empty and has the focus.
async function asksForAnother(guest) {
  await guest.getByText(another).waitFor()
  await until('an empty field with the focus', () =>
    guest.evaluate(() => document.activeElement.type === 'password' && document.activeElement.value === ''),
  )
}

// A share has a password of its own, and its file has one that the sharer may not open to others:
// visitors give both, in any order.
async function asksTwo(page, config) {
  await config.ask('createVault')
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Shelf', [notes, pictures[0]], '/vault')
  const username = await config.ask('createAccount', { locale: config.language })
  const sharer = await stranger(page, config)
  await signInAt(sharer, { ...config, username }, '/app/files')
  const file = await share(sharer, `${folder}/notes.txt`, { password: 'of the share' })
  const whole = await share(sharer, folder, { password: 'of the share' })
  await done(sharer)
  await lock(page, `${folder}/notes.txt`, 'of the file')

  const guest = await stranger(page, config)
  await guest.goto(`/share/${file}`)
  await guest.getByRole('heading', { level: 1, name: `${username} shared a document with you` }).waitFor()
  await give(guest, 'of the share')
  await asksForAnother(guest)
  await look(guest, config, 'share-second-password')
  await give(guest, 'of the folder')
  await guest.getByText(wrong).waitFor()
  equal('whether the first password still counts', await guest.getByText(another).isVisible(), true)
  await give(guest, 'of the file')
  await guest.getByText(content).waitFor()

  await guest.context().clearCookies()
  await guest.reload()
  await give(guest, 'of the file')
  await asksForAnother(guest)
  await give(guest, 'of the share')
  await guest.getByText(content).waitFor()

  // a shared folder leaves the file out, since its sharer cannot open it
  await guest.goto(`/share/${whole}`)
  await give(guest, 'of the share')
  await arrived(guest, 1)
  equal('the locked file', await guest.getByText('notes.txt').count(), 0)
  await done(guest)
}

// After too many wrong passwords the form says when to try again, counts down, and keeps what was
// entered. The clock of the page stands still, so that the time does not pass by itself.
async function waits(page, config) {
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Guessed', [notes])
  const id = await share(page, folder, { password: 'open sesame' })
  const guest = await stranger(page, config)
  await guest.goto(`/share/${id}`)
  const heading = guest.getByRole('heading', { level: 1, name: `${config.username} shared a folder with you` })
  await heading.waitFor()
  await guest.clock.install()
  await guest.clock.pauseAt(await guest.evaluate(() => Date.now() + 1000))
  await until('the limit', async () => {
    const answer = guest.waitForResponse((response) => response.url().endsWith('/verify'))
    await give(guest, 'a guess')
    return (await answer).status() === 429
  })
  const told = guest.getByText(/^Too many attempts\. Try again in [1-9]\d* s\.$/)
  await told.waitFor()
  const seconds = () => guest.evaluate(() => Number(/Try again in (\d+) s/.exec(document.body.innerText)[1]))
  const first = await seconds()
  equal('whether the time is that of the server', first <= 60, true)
  const button = guest.getByRole('button', { name: 'Open', exact: true })
  await becomes('whether the button waits', () => button.getAttribute('aria-disabled'), 'true')
  await becomes(
    'the form',
    () => guest.evaluate(() => [document.activeElement.type, document.activeElement.value]),
    ['password', 'a guess'],
  )
  equal('whether the page is the same', await heading.isVisible(), true)
  await guest.clock.runFor((first - 1) * 1000)
  await becomes('the seconds', seconds, 1)
  await guest.clock.runFor(1500)
  await told.waitFor({ state: 'detached' })
  await becomes('whether the button waits', () => button.getAttribute('aria-disabled'), 'false')
  await done(guest)
}

export const scenarios = [
  { name: 'a share asks for two passwords', forms: once, run: asksTwo },
  { name: 'a share makes a visitor wait after wrong passwords', forms: once, run: waits },
]
