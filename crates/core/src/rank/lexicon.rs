//! Everyday words by what they are about, so that "will I need an umbrella" finds the client that says "weather".
//!
//! One line per subject. A word may stand in several; a pair of words stands with a space between them. Only general
//! vocabulary belongs here, nothing about particular programs.

pub const SUBJECTS: &[&str] = &[
    // weather
    "weather forecast rain rainy raining snow snowing sun sunny cloud cloudy wind windy storm thunder thunderstorm umbrella \
     jacket coat temperature degrees celsius fahrenheit warm cold hot chilly freezing frost fog humid humidity climate \
     outside outdoors hail uv pollen drizzle heatwave",
    // appointments and dates
    "calendar appointment meeting meet schedule agenda event invite invitation slot availability available busy free book \
     booking reschedule dentist doctor haircut birthday anniversary conference call standup lunch dinner o'clock \
     monday tuesday wednesday thursday friday saturday sunday weekend week month january february march april june july \
     august september october november december date dates deadline planner day plate diary block morning afternoon",
    // things to do
    "task todo chore checklist list tick done finish finished complete completed backlog overdue due priority assign \
     remind reminder reminders remember forget errand bins cleaning pending project milestone deadline follow",
    // notes and knowledge
    "note notes notebook notetaking jot write down idea ideas thought thoughts journal journaling diary memo remember \
     save log knowledge vault draft capture document documents page wiki markdown record summary summarize meeting minutes \
     quote bookmark reference brainstorm",
    // mail
    "mail email emails inbox unread reply forward attachment attachments subject newsletter newsletters spam cc bcc \
     sender recipient correspondence letter unsubscribe archive gmail outlook send message",
    // messages to people
    "message messages chat text texting sms dm tell ping whatsapp signal slack send reply contact contacts call phone",
    // music and sound
    "music song songs track tracks album albums artist artists band playlist playlists play sing sings singing pause skip shuffle volume louder \
     quieter listen radio podcast podcasts jazz rock pop techno classical beat beats tune tunes singer soundtrack audio \
     spotify headphones speaker speakers lyrics concert dj stop mute",
    // the house
    "light lights lamp lamps bulb brightness dim dimmer bright dark heating heater radiator thermostat temperature degrees \
     warm warmer cold colder cool cooler door doors lock unlock locked garage blinds curtains curtain window windows \
     kitchen bedroom living room bathroom hallway house home smart switch plug socket appliance appliances vacuum hoover \
     robot fan air conditioning oven dishwasher washing machine alarm camera cameras scene device devices turn on off",
    // clocks
    "timer timers countdown alarm alarms wake stopwatch minutes minute seconds second hours hour snooze clock time egg eggs \
     pasta ring buzz beep pomodoro wake up",
    // shopping and food at home
    "shopping shop buy groceries grocery supermarket store milk bread eggs butter cheese coffee bananas apples vegetables \
     fruit meat detergent toilet paper run out cart basket order ordered stock pantry fridge list purchase purchases item items",
    // cooking
    "recipe recipes cook cooking bake baking dinner meal meals ingredient ingredients oven dish lunch breakfast vegetarian \
     vegan boil fry roast soup salad curry pasta cuisine",
    // software
    "code coding program programming software bug bugs fix test tests testing unit build builds deploy deployment release \
     commit commits branch branches merge pull request pr review refactor function functions compile compiler crash error \
     errors stack trace log logs server servers script scripts repository repo git github ci pipeline lint api endpoint \
     database query python rust javascript typescript java debug debugging developer implement feature frontend backend \
     staging production rollback failing failed docker",
    // money
    "expense expenses money spend spent spending cost costs paid pay payment payments budget budgets budgeting receipt \
     receipts invoice invoices bill bills euro euros dollar dollars pound pounds bucks rent salary income bank account \
     balance tax taxes refund reimburse reimbursement finance finances financial price cash card owe owes price transfer savings split",
    // ways and travel
    "route routes directions direction navigate navigation map maps drive driving car traffic jam train trains bus buses \
     tram subway metro flight flights plane airport station platform commute walk walking bike cycling cycle trip travel \
     travelling journey distance far nearest nearby way road street highway arrive arrival leave departure departures ticket tickets \
     hotel hotels vacation holiday get to how long parking fuel petrol",
    // health
    "health workout exercise run running gym fitness steps sleep weight calories heart rate medicine pill pills water \
     training yoga walk walked kilometres diet medication symptom pain blood pressure",
    // languages
    "translate translation language languages spanish french german italian english japanese chinese phrase word words \
     pronounce meaning dictionary grammar spell spelling vocabulary synonym",
    // numbers
    "calculate calculation calculator math maths plus minus times divided percent percentage sum convert conversion unit \
     units equals square root multiply kilometres miles ounces grams inches",
    // news
    "news headline headlines newspaper article articles press politics election stock stocks market markets story stories \
     happening world breaking",
    // pictures and films
    "photo photos picture pictures image images camera screenshot album gallery video videos film films movie movies series \
     episode watch netflix tv television show cinema stream streaming",
    // files
    "file files folder folders document documents download downloads upload backup copy rename delete pdf spreadsheet \
     disk drive storage archive zip",
    // looking up
    "search find look up lookup google wikipedia question answer who what explain definition define fact facts information",
];

/// Words that say nothing about the subject.
pub const STOP_WORDS: &str = "a about actually after again all also am an and any anybody anyone anything are as at be because been \
     before being but by can could did do does doing don't each every everything few for from get give go going got had \
     handle handles has have having he hello help her here hers hey hi him his how i i'd i'll i'm i've if in into is it its it's just \
     know let like made make many maybe me more most much must my need needs no not now of oh ok okay on one only or our out \
     over own please put really say says see set she should so some somebody someone something that thats that's the their them then there \
     these they thing things this those to too us use user users very want wants was we well were what whats what's when \
     where which while who why will with would yes yet you your";
