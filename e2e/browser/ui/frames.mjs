// Measures how a page with a long grid or list scrolls. The times have no limits, because they
// depend on the machine and its load.

// scroll scrolls 300 frames of 60 px each, which take 5 s at 60 frames a second. `cells` selects
// the cells, or one element in each. It returns the median and the 95th percentile of the times
// between two frames (ms), the mean times of scripts, layout and styles in a frame (ms), the number
// of tasks over 50 ms, the heap (MiB), and the largest number of cells in the document.
export async function scroll(page, cells) {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  const metrics = async () =>
    Object.fromEntries((await session.send('Performance.getMetrics')).metrics.map(({ name, value }) => [name, value]))
  const before = await metrics()
  const { frames, most, long } = await page.evaluate(
    (cells) =>
      new Promise((resolve) => {
        const deltas = []
        let most = 0
        let long = 0
        const observer = new PerformanceObserver((list) => (long += list.getEntries().length))
        observer.observe({ type: 'longtask' })
        let last = performance.now()
        const step = (now) => {
          deltas.push(now - last)
          last = now
          most = Math.max(most, document.querySelectorAll(cells).length)
          scrollBy(0, 60)
          if (deltas.length < 300) return requestAnimationFrame(step)
          observer.disconnect()
          resolve({ frames: deltas.slice(1).sort((a, b) => a - b), most, long })
        }
        requestAnimationFrame(step)
      }),
    cells,
  )
  const after = await metrics()
  await session.detach()
  const cost = (name) => ((after[name] - before[name]) * 1000) / frames.length
  return {
    median: frames[Math.floor(frames.length / 2)],
    p95: frames[Math.floor(frames.length * 0.95)],
    script: cost('ScriptDuration'),
    layout: cost('LayoutDuration'),
    style: cost('RecalcStyleDuration'),
    long,
    heap: after.JSHeapUsedSize / 2 ** 20,
    most,
  }
}

// jumpToMiddle scrolls to the middle of the page. It returns the time until more than three of the
// elements that `entries` selects are in the window (ms), or Infinity after 20 s.
export const jumpToMiddle = (page, entries) =>
  page.evaluate(async (entries) => {
    const begun = performance.now()
    scrollTo(0, document.documentElement.scrollHeight / 2)
    for (;;) {
      await new Promise(requestAnimationFrame)
      const seen = [...document.querySelectorAll(entries)].filter((link) => {
        const { top, bottom } = link.getBoundingClientRect()
        return bottom > 0 && top < innerHeight
      })
      if (seen.length > 3) return performance.now() - begun
      if (performance.now() - begun > 20_000) return Infinity
    }
  }, entries)
