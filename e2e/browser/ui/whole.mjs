// The whole application as one story, on an empty site and by visible labels alone: first run,
// bucket, rights, people, share, new address, stolen session, free mode. The Go test does the work
// outside Larder: it creates the buckets, starts the mail server and reads the mails.
import { openSection as openAdministration } from './admin.mjs'
import { chooses, texts as ruleTexts } from './admin-rules.mjs'
import { words as siteWords } from './admin-site.mjs'
import { otherFaults, texts as storageTexts } from './admin-storage.mjs'
import { texts as userTexts } from './admin-users.mjs'
import { atStep, words as firstWords } from './firstrun.mjs'
import { once } from './forms.mjs'
import { fill, texts as freeTexts } from './free.mjs'
import { becomes, equal, give } from './harness.mjs'
import { labels, signIn } from './labels.mjs'
import { openSection as openSettings, second, words as settingWords } from './settings.mjs'
import { enterShare, makeShare } from './shares.mjs'
import { arrived, done, look, pictures, saved, stranger } from './stranger.mjs'

const say = labels['en-US']
const first = firstWords['en-US']
const storage = storageTexts['en-US']
const rules = ruleTexts['en-US']
const users = userTexts['en-US']
const site = siteWords['en-US']
const settings = settingWords['en-US']
const free = freeTexts['en-US']

const folder = 'Summer'
const path = `/photos/${folder}`
const files = pictures.map(({ name, bytes }) => ({
  name,
  mimeType: 'image/png',
  buffer: Buffer.from(bytes, 'base64'),
}))

const button = (scope, name) => scope.getByRole('button', { name, exact: true })
const press = (scope, name) => button(scope, name).click()
const labelled = (scope, name) => scope.getByLabel(name, { exact: true })
const dialog = (page, name) => page.getByRole('dialog', { name })
const go = (page, section) =>
  page.getByRole('navigation', { name: say.nav, exact: true }).getByRole('link', { name: section }).click()
const enterFolder = (page, name) => page.getByRole('link', { name, exact: true }).dblclick()

// A new site: its name, the disk of the server, and a first picture.
async function startsSite(page, config) {
  await page.goto('/')
  await signIn(page, config)
  await atStep(page, config, 1)
  await labelled(page, first.title).fill('Lake house')
  await press(page, first.next)
  await atStep(page, config, 2)
  await page.getByText(first.tested).waitFor()
  await press(page, first.useDisk)
  await atStep(page, config, 3)
  await give(page, () => press(page, first.choose), { ...files[0], name: 'first light.png' })
  await page.getByRole('heading', { name: first.stored }).waitFor()
  await look(page, config, 'whole-1-first-run')
  await press(page, first.finish)
  await page.getByRole('link', { name: 'first light.png' }).waitFor()
}

// A bucket becomes the folder /photos.
async function mountsBucket(page, config) {
  const bucket = await config.ask('createBucket')
  await openAdministration(page, config, storage.storage)
  await press(page, storage.addStorage)
  const form = dialog(page, storage.addStorage)
  await labelled(form, storage.kind).selectOption(storage.other)
  await labelled(form, storage.name).fill('bucket')
  await labelled(form, storage.endpoint).fill(bucket.Endpoint)
  await labelled(form, storage.bucket).fill(bucket.Name)
  await labelled(form, storage.keyId).fill(bucket.AccessKey)
  await labelled(form, storage.secret).fill(bucket.SecretKey)
  await press(form, say.save)
  const test = dialog(page, storage.test('bucket'))
  await test.getByText(storage.latency).waitFor()
  await look(page, config, 'whole-2-tested')
  await press(test, storage.mountIt)
  const mount = dialog(page, storage.addMount)
  await labelled(mount, storage.path).fill('/photos')
  await press(mount, say.save)
  await mount.waitFor({ state: 'detached' })
  await look(page, config, 'whole-2-mounted')
  await page.getByRole('link', { name: 'Open /photos' }).click()
  await page.getByText(say.emptyFolder).waitFor()
}

// Pictures in a new folder are stored in the bucket.
async function fillsFolder(page, config) {
  await press(page, say.newFolder)
  await page.getByRole('textbox', { name: say.folderName }).fill(folder)
  await page.keyboard.press('Enter')
  await enterFolder(page, folder)
  await page.getByText(say.emptyFolder).waitFor()
  await give(page, () => button(page.getByRole('main'), say.upload).first().click(), files)
  await page.getByRole('heading', { name: say.uploaded(files.length) }).waitFor()
  await arrived(page, files.length)
  await look(page, config, 'whole-2-pictures')
  await becomes('the number of objects', async () => (await config.ask('bucketKeys')).length, files.length)
  equal('faults other than the way to a store without CORS rules', otherFaults(page), [])
}

// addUser creates an account and returns its credentials.
async function addUser(page, config, username) {
  await press(page, users.newUser)
  const form = page.getByRole('dialog')
  await labelled(form, say.username).fill(username)
  await labelled(form, users.email).fill(`${username}@example.org`)
  await press(form, users.generate)
  await press(form, users.create)
  const made = dialog(page, users.made(username))
  const password = await labelled(made, say.password).inputValue()
  await look(page, config, 'whole-3-user')
  await made.getByRole('button', { name: say.close }).last().click()
  await made.waitFor({ state: 'detached' })
  return { ...config, username, password }
}

// A rule allows the folder to mia alone, and Explain tells why tom may not see it.
async function allowsToOne(page, config) {
  await openAdministration(page, config, users.users)
  await button(page, say.showUploads).waitFor() // the finished list is folded beside the files
  const mia = await addUser(page, config, 'mia')
  const tom = await addUser(page, config, 'tom')
  await openAdministration(page, config, rules.rules)
  await press(page, rules.create)
  const form = dialog(page, rules.create)
  await form.getByLabel(rules.appliesTo).selectOption({ label: rules.account })
  await chooses(form, rules, mia.username)
  await chooseFolder(page, form)
  await form.getByText(rules.covers(path), { exact: true }).waitFor()
  await look(page, config, 'whole-3-rule')
  await press(form, rules.create)
  await form.waitFor({ state: 'detached' })
  await page
    .getByRole('row')
    .filter({ hasText: rules.accountMay(mia.username, path) })
    .waitFor()

  await page.getByRole('link', { name: rules.explain }).click()
  await page.getByRole('heading', { level: 2, name: rules.explain }).waitFor()
  await chooseFolder(page, page)
  await page.getByRole('radio', { name: rules.who, exact: true }).check()
  await explains(page, tom.username, rules.mayNot(tom.username, path), rules.noRule)
  await look(page, config, 'whole-3-explained')
  await explains(page, mia.username, rules.may(mia.username, path), rules.decides)
  return { mia, tom }
}

// chooseFolder enters the folder into the field for a path, by the dialog with the folders.
async function chooseFolder(page, scope) {
  await press(scope, 'Choose folder…')
  const picker = dialog(page, 'Choose a folder')
  await picker.getByLabel(settings.findFolder).fill(folder)
  await picker.getByRole('treeitem', { name: folder }).click()
  await press(picker, settings.useFolder)
  await picker.waitFor({ state: 'detached' })
}

async function explains(page, username, verdict, reason) {
  await chooses(page, rules, username)
  await press(page, rules.ask)
  await page.getByText(verdict, { exact: true }).waitFor()
  await page.getByText(reason).first().waitFor()
}

// mia walks from her own folder to the allowed one, and tom does not meet it.
async function tries(page, config, { mia, tom }) {
  const friend = await second(page, mia)
  await toRoot(friend)
  await enterFolder(friend, 'photos')
  await enterFolder(friend, folder)
  await arrived(friend, files.length)
  await look(friend, config, 'whole-3-allowed')
  const address = friend.url()
  await done(friend)
  const other = await second(page, tom)
  await toRoot(other)
  await other.getByRole('link', { name: say.publicFolder, exact: true }).waitFor()
  await becomes('folders named photos', () => other.getByRole('link', { name: 'photos', exact: true }).count(), 0)
  await other.goto(address)
  await other.getByRole('heading', { name: rules.forbidden }).waitFor()
  await look(other, config, 'whole-3-denied')
  await done(other)
}

const toRoot = (page) => page.getByRole('navigation', { name: say.path }).getByRole('link', { name: say.files }).click()

// An invite becomes an account. It returns the page of the new account, and its credentials.
async function invites(page, config) {
  await openAdministration(page, config, users.users)
  await page.getByRole('tab', { name: users.invites, exact: true }).click()
  await press(page, users.newInvite)
  await labelled(page, users.note).fill('Ida')
  await press(page, users.create)
  const link = await labelled(page, users.link).inputValue()
  await look(page, config, 'whole-4-invite')
  await page.getByRole('dialog').getByRole('button', { name: say.close }).last().click()
  await page.getByRole('row').filter({ hasText: 'Ida' }).waitFor()

  const ida = { ...config, username: 'ida', password: 'password of ida' }
  const guest = await stranger(page, config)
  await guest.goto(link)
  await labelled(guest, say.username).fill(ida.username)
  await labelled(guest, users.email).fill('ida@example.org')
  await labelled(guest, say.password).fill(ida.password)
  await look(guest, config, 'whole-4-register')
  await press(guest, users.register)
  await guest.waitForURL((url) => url.pathname === '/app/files/home/ida')
  await guest.getByText(say.emptyFolder).waitFor()
  await look(guest, config, 'whole-4-registered')
  return { guest, ida }
}

// A stranger on a phone sees the pictures of the folder by its link and password.
async function shares(page, config) {
  await go(page, say.files)
  await enterFolder(page, 'photos')
  const guest = await enterShare(page, config, await makeShare(page, config, folder), folder)
  await arrived(guest, files.length)
  await look(guest, { ...config, size: 'phone' }, 'whole-5-stranger')
  await guest.getByRole('link', { name: 'lake 2.png' }).click()
  await guest.waitForFunction(() => document.querySelector('dialog[open] img[alt="lake 2.png"]')?.naturalWidth > 0)
  await look(guest, { ...config, size: 'phone' }, 'whole-5-picture')
  await done(guest)
}

// The administrator connects the mail server.
async function connectsMail(page, config) {
  const mail = await config.ask('mailServer')
  await openAdministration(page, config, site.site)
  await page.getByRole('switch', { name: 'Send email' }).click()
  await labelled(page, site.server).fill(mail.smtpHost)
  await labelled(page, 'Port').fill(String(mail.smtpPort))
  await labelled(page, 'User name').fill(mail.smtpUser)
  await labelled(page, site.password).fill(mail.smtpPassword)
  await labelled(page, 'Sender address').fill(mail.smtpFromEmail)
  await look(page, config, 'whole-6-mail')
  await press(page, site.save)
  await button(page, site.save).waitFor({ state: 'detached' })
  await labelled(page, site.to).fill('boss@example.org')
  await press(page, site.send)
  await page.getByText(site.sent('boss@example.org')).waitFor()
}

// The address changes with the code of the mail.
async function changesAddress(page, config) {
  const address = 'ida@lake.example'
  await openSettings(page, config, 'security')
  await page.getByLabel(settings.newEmail).fill(address)
  await press(page, settings.sendCode)
  await labelled(page, settings.code).fill(await config.ask('mailedCode', address))
  await look(page, config, 'whole-6-code')
  await press(page, settings.confirm)
  await page.getByText(address, { exact: true }).waitFor()
  await page.getByText(settings.verified, { exact: true }).waitFor()
  await look(page, config, 'whole-6-changed')
}

// A session on another device is ended, and has to sign in at its next action.
async function endsStolen(page, config, ida) {
  const thief = await second(page, ida)
  await openSettings(page, config, 'profile')
  await openSettings(page, config, 'security')
  await look(page, config, 'whole-7-sessions')
  await press(page, settings.end)
  await press(dialog(page, settings.endTitle), settings.endButton)
  await page.getByText(settings.ended).waitFor()
  await press(thief, say.newFolder)
  await thief.getByRole('textbox', { name: say.folderName }).fill('mine')
  await thief.keyboard.press('Enter')
  await dialog(thief, say.lost).waitFor()
  await look(thief, config, 'whole-7-lost')
  await done(thief)
  await go(page, say.files) // this session goes on
  await enterFolder(page, say.homes)
  await enterFolder(page, 'ida')
  await page.getByText(say.emptyFolder).waitFor()
}

// A visitor works in a bucket of their own.
async function visitsFree(page, config) {
  const bucket = await config.ask('createBucket')
  const visitor = await stranger(page, config)
  await visitor.goto('/app/login')
  await visitor.getByRole('link', { name: free.link }).click()
  await fill(visitor, free, bucket, bucket.SecretKey)
  await look(visitor, config, 'whole-8-connect')
  await press(visitor, free.connect)
  await visitor.getByText(free.empty, { exact: true }).waitFor()
  await give(visitor, () => press(visitor, free.upload), files[1])
  await visitor.getByText(free.status(1, 1)).waitFor()
  await becomes('the objects in the bucket', () => config.ask('bucketKeys'), [files[1].name])
  await look(visitor, config, 'whole-8-uploaded')
  const got = await saved(visitor, () => press(visitor, free.download(files[1].name)))
  equal('whether the bytes are the same', got.bytes.equals(files[1].buffer), true)
  await press(visitor, free.remove(files[1].name))
  await press(dialog(visitor, free.sure(files[1].name)), free.delete)
  await visitor.getByText(free.empty, { exact: true }).waitFor()
  await becomes('the objects that are left', () => config.ask('bucketKeys'), [])
  await press(visitor, free.end)
  await visitor.getByText(free.ended).waitFor()
  await look(visitor, config, 'whole-8-ended')
  await done(visitor)
}

async function goesThroughAll(page, config) {
  await startsSite(page, config)
  await mountsBucket(page, config)
  await fillsFolder(page, config)
  await tries(page, config, await allowsToOne(page, config))
  const { guest, ida } = await invites(page, config)
  await shares(page, config)
  await connectsMail(page, config)
  await changesAddress(guest, config)
  await endsStolen(guest, config, ida)
  await done(guest)
  await visitsFree(page, config)
}

export const scenarios = [{ name: 'goes through the whole application', forms: once, run: goesThroughAll }]
