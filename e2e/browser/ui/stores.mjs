// Direct uploads from the page to a store, in buckets of the tests' S3 server.
import { equal } from './harness.mjs'
import { choose, enter, finished, MiB, onLan, whole, written } from './sending.mjs'

// puts counts the PUT requests to the store and to the service.
function puts(page, config) {
  const count = { store: 0, service: 0 }
  page.on('request', (request) => {
    if (request.method() === 'PUT') count[new URL(request.url()).origin === config.base ? 'service' : 'store']++
  })
  return count
}

// The bytes go to the store only, 1 MiB in one piece and 20 MiB in parts.
async function straight(page, config, folder = '/open') {
  const files = [await written(config, 'one.bin', MiB), await written(config, 'parts.bin', 20 * MiB)]
  await config.ask('createStores')
  await enter(page, config, folder)
  const count = puts(page, config)
  await choose(
    page,
    config,
    files.map((file) => file.path),
  )
  await finished(page, config, 2)
  equal('the requests', count, { store: 4, service: 0 })
  await whole(config, files, folder)
}

// So they do with the automatic mode: without TLS, the policy of the page names the store.
const automatic = (page, config) => straight(page, config, '/auto')

// If the page cannot reach the store, or cannot read its response, the same upload goes through the
// service. The page then avoids the store, also after a reload.
async function around(page, config, folder) {
  const files = [
    await written(config, 'one.bin', MiB),
    await written(config, 'parts.bin', 20 * MiB),
    await written(config, 'later.bin', MiB),
    await written(config, 'last.bin', 20 * MiB),
  ]
  await config.ask('createStores')
  await enter(page, config, folder)
  const count = puts(page, config)
  await choose(
    page,
    config,
    files.slice(0, 2).map((file) => file.path),
  )
  await finished(page, config, 2)
  equal('the requests to the service', count.service, 4)
  equal('whether the store was tried, each piece once at most', count.store > 0 && count.store <= 4, true)
  const tried = count.store
  await choose(page, config, files[2].path)
  await finished(page, config, 3)
  await page.reload()
  await choose(page, config, files[3].path)
  await finished(page, config, 1)
  equal('the requests', count, { store: tried, service: 8 })
  await whole(config, files, folder)
}

async function shut(page, config) {
  await around(page, config, '/shut')
  equal(
    'faults but what the browser says about the store',
    page.faults().filter((fault) => !fault.includes('blocked by CORS policy')),
    [],
  )
}

const headerless = (page, config) => around(page, config, '/headerless')

export const scenarios = onLan([
  { name: 'sends bytes straight to a store', run: straight },
  { name: 'sends bytes straight to a store by itself', run: automatic },
  { name: 'goes around a store that shuts pages out', run: shut },
  { name: 'goes around a store that hides what it answers', run: headerless },
])
