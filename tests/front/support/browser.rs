//! A real Chromium, driven through ChromeDriver.
//!
//! One driver a process, started when the first test asks for it; one browser with a profile of its own for
//! each test. What doesn't come about within ten seconds panics, with what the page says instead.

use std::path::Path;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use fantoccini::actions::{InputSource, MOUSE_BUTTON_LEFT, MouseActions, PointerAction};
use fantoccini::elements::Element;
use fantoccini::wd::Capabilities;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use super::tether::Tether;
use super::{Person, settings};

const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Whether this run covers the browser. If not, says so.
pub fn is_selected() -> bool {
    let selected = settings::browser();
    if !selected {
        settings::left_out("the tests in a browser", "COUNTERSIGN_TEST_BROWSER=1");
    }
    selected
}

/// A browser window on one site.
pub struct Browser {
    client: Client,
    site: String,
    _profile: tempfile::TempDir,
}

/// A screen to look at the pages on.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    pub width: u32,
    pub height: u32,
    pub dark: bool,
}

impl Screen {
    pub const DESKTOP: Self = Self {
        width: 1280,
        height: 900,
        dark: false,
    };
    pub const PHONE: Self = Self {
        width: 390,
        height: 844,
        dark: false,
    };

    pub const fn dark(self) -> Self {
        Self { dark: true, ..self }
    }
}

impl Browser {
    /// Opens a window. `site` is what paths are relative to, such as `http://127.0.0.1:8080`.
    pub async fn open(site: &str) -> Self {
        let profile = tempfile::Builder::new().prefix("profile.").tempdir_in(driver().folder.path()).unwrap();
        let mut arguments = CHROMIUM_FLAGS.map(String::from).to_vec();
        arguments.push(format!("--user-data-dir={}", profile.path().display()));
        let mut capabilities = Capabilities::new();
        capabilities.insert("goog:chromeOptions".into(), json!({ "args": arguments }));
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let client = builder.capabilities(capabilities).connect(&driver().url).await.unwrap();
        let browser = Self {
            client,
            site: site.to_owned(),
            _profile: profile,
        };
        browser.look_on(Screen::DESKTOP).await;
        browser
    }

    /// Ends the browser. Without it, the browser lives until the process ends.
    pub async fn close(self) {
        self.client.close().await.unwrap();
    }

    pub async fn goto(&self, path: &str) {
        self.client.goto(&format!("{}{path}", self.site)).await.unwrap();
    }

    /// Signs in, and waits for the page that comes after.
    pub async fn sign_in(&self, person: &Person) {
        self.goto("/login").await;
        self.fill("email", &person.email).await;
        self.fill("password", &person.password).await;
        self.click("Sign in").await;
        let begun = Instant::now();
        while self.path().await.starts_with("/login") {
            if begun.elapsed() > PATIENCE {
                self.give_up("page after signing in").await;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// The current page's path, with its query.
    pub async fn path(&self) -> String {
        let url = self.client.current_url().await.unwrap();
        url.as_str().strip_prefix(&self.site).unwrap_or(url.as_str()).to_owned()
    }

    /// Clicks the button, link or disclosure that reads `text`, as soon as there is one to see. A key that is shown
    /// behind the text doesn't count.
    pub async fn click(&self, text: &str) {
        let path = format!(
            "//*[self::button or self::a or self::summary or self::label]\
             [normalize-space()={0} or normalize-space(text())={0}] \
             | //input[(@type='submit' or @type='button') and @value={0}]",
            xpath_literal(text)
        );
        self.visible(Locator::XPath(&path), text).await.click().await.unwrap();
    }

    /// Clicks what the CSS selector finds, as soon as it can be seen.
    pub async fn click_on(&self, selector: &str) {
        self.visible(Locator::Css(selector), selector).await.click().await.unwrap();
    }

    /// Presses the mouse twice on the same place, with a pause between.
    pub async fn double_click(&self, selector: &str, pause: Duration) {
        let target = self.visible(Locator::Css(selector), selector).await;
        let press = || {
            [
                PointerAction::Down {
                    button: MOUSE_BUTTON_LEFT,
                },
                PointerAction::Up {
                    button: MOUSE_BUTTON_LEFT,
                },
            ]
        };
        let over = PointerAction::MoveToElement {
            element: target,
            duration: None,
            x: 0.0,
            y: 0.0,
        };
        let between = PointerAction::Pause { duration: pause };
        let steps = [over].into_iter().chain(press()).chain([between]).chain(press());
        let mouse = steps.fold(MouseActions::new("mouse".into()), MouseActions::then);
        self.client.perform_actions(mouse).await.unwrap();
    }

    /// Replaces what is in the form field of that name.
    pub async fn fill(&self, field: &str, value: &str) {
        let selector = format!("[name='{field}']");
        let element = self.visible(Locator::Css(&selector), &selector).await;
        element.clear().await.unwrap();
        element.send_keys(value).await.unwrap();
    }

    /// Chooses the option that reads `label` in the form field of that name.
    pub async fn choose(&self, field: &str, label: &str) {
        let selector = format!("select[name='{field}']");
        self.visible(Locator::Css(&selector), &selector)
            .await
            .select_by_label(label)
            .await
            .unwrap();
    }

    /// All that can be read on the page.
    pub async fn text(&self) -> String {
        self.text_of("body").await
    }

    /// What can be read in the first element that the CSS selector finds.
    pub async fn text_of(&self, selector: &str) -> String {
        self.visible(Locator::Css(selector), selector).await.text().await.unwrap()
    }

    /// Waits until the page reads `text` somewhere.
    pub async fn see(&self, text: &str) {
        let begun = Instant::now();
        // Between two pages there may be no body to read.
        while !self.try_text().await.contains(text) {
            if begun.elapsed() > PATIENCE {
                self.give_up(text).await;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// How many elements the CSS selector finds, without waiting.
    pub async fn count(&self, selector: &str) -> usize {
        self.client.find_all(Locator::Css(selector)).await.unwrap().len()
    }

    /// Runs JavaScript in the page, and returns what it returns.
    pub async fn execute(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap()
    }

    /// Shows the pages on another screen from now on, in its theme.
    pub async fn look_on(&self, screen: Screen) {
        let Screen { width, height, dark } = screen;
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await;
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", media).await;
    }

    /// Turns JavaScript off, from the next page on.
    pub async fn without_javascript(&self) {
        self.devtools("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await;
    }

    /// Saves a picture of the whole page, as PNG.
    pub async fn screenshot(&self, file: &Path) {
        let picture = self
            .devtools("Page.captureScreenshot", json!({ "format": "png", "captureBeyondViewport": true }))
            .await;
        let bytes = BASE64.decode(picture["data"].as_str().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
    }

    /// The first element the locator finds that can be seen.
    async fn visible(&self, locator: Locator<'_>, name: &str) -> Element {
        let begun = Instant::now();
        loop {
            for element in self.client.find_all(locator).await.unwrap() {
                // An element that htmx has just replaced is an error, and not there either.
                if element.is_displayed().await.unwrap_or(false) {
                    return element;
                }
            }
            if begun.elapsed() > PATIENCE {
                self.give_up(name).await;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    async fn try_text(&self) -> String {
        let Ok(body) = self.client.find(Locator::Css("body")).await else {
            return String::new();
        };
        body.text().await.unwrap_or_default()
    }

    async fn give_up(&self, wanted: &str) -> ! {
        panic!("no {wanted:?} on {}, which reads:\n{}", self.path().await, self.try_text().await);
    }

    /// A command of the DevTools protocol, for what WebDriver has no words for.
    async fn devtools(&self, command: &str, parameters: Value) -> Value {
        let session = self.client.session_id().await.unwrap().unwrap();
        let url = format!("{}/session/{session}/goog/cdp/execute", driver().url);
        let body = json!({ "cmd": command, "params": parameters });
        let response = reqwest::Client::new().post(url).json(&body).send().await.unwrap();
        let answer: Value = response.error_for_status().unwrap().json().await.unwrap();
        answer["value"].clone()
    }
}

/// Without the later ones Chromium looks for services on the network at every start. `--no-sandbox` because
/// root has no other way, `--disable-dev-shm-usage` because containers have a small `/dev/shm`.
const CHROMIUM_FLAGS: [&str; 9] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

struct Driver {
    url: String,
    folder: tempfile::TempDir,
    _tether: Mutex<Tether>,
}

fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let folder = tempfile::Builder::new().prefix("countersign-browser.").tempdir().unwrap();
        let mut tether = Tether::start_and_kill("chromedriver", &["--port=0"], folder.path());
        let port = tether.await_line(|line| {
            let port = line.strip_prefix("ChromeDriver was started successfully on port ")?;
            Some(port.trim_end_matches('.').to_owned())
        });
        Driver {
            url: format!("http://127.0.0.1:{port}"),
            folder,
            _tether: tether.into(),
        }
    })
}

/// XPath has no escapes: a text with both kinds of quotes is put together from parts.
fn xpath_literal(text: &str) -> String {
    let parts: Vec<_> = text.split('\'').map(|part| format!("'{part}'")).collect();
    if parts.len() == 1 {
        parts[0].clone()
    } else {
        format!("concat({})", parts.join(r#", "'", "#))
    }
}
